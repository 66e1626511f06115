"""What a model says, in each API: a whole answer, or the events of a stream.

Source: the API references of OpenAI (chat completions, responses), Anthropic and Ollama.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from tests.graphs.stub.turns import Call, Say
from tests.model_server import chunk

Said = Say | Call
_number = count(1)


def whole_chat(said: Said) -> str:
    choice = {"index": 0, "message": {"role": "assistant", **_chat(said)}, "finish_reason": _finish(said)}
    body = {"id": f"c{next(_number)}", "object": "chat.completion", "created": 1, "model": "stub"}
    return json.dumps({**body, "choices": [choice], "usage": _usage("prompt_tokens", "completion_tokens")})


def stream_chat(said: Said) -> Iterator[str]:
    match said:
        case Say(text):
            yield chunk({"role": "assistant", "content": ""})
            yield from (chunk({"content": piece}) for piece in pieces(text))
        case Call():
            yield chunk({"role": "assistant", **_chat(said)})
    yield chunk({}, _finish(said))
    yield "data: [DONE]\n\n"


def _chat(said: Said) -> dict[str, Any]:
    if isinstance(said, Say):
        return {"content": said.text}
    function = {"name": said.name, "arguments": json.dumps(said.arguments)}
    call = {"index": 0, "id": f"call_{next(_number)}", "type": "function", "function": function}
    return {"content": None, "tool_calls": [call]}


def _finish(said: Said) -> str:
    return "stop" if isinstance(said, Say) else "tool_calls"


def whole_response(said: Said) -> str:
    return json.dumps(_response([_item(said)], "completed"))


def stream_response(said: Said) -> Iterator[str]:
    events = count()

    def event(kind: str, **more: Any) -> str:
        return _sse(kind, {"type": kind, "sequence_number": next(events), **more})

    item = _item(said)
    place = {"output_index": 0, "item_id": item["id"]}
    yield event("response.created", response=_response([], "in_progress"))
    yield event("response.output_item.added", output_index=0, item={**item, "status": "in_progress"} | _empty(said))
    if isinstance(said, Say):
        inner = {**place, "content_index": 0}
        yield event("response.content_part.added", **inner, part={"type": "output_text", "text": "", "annotations": []})
        for piece in pieces(said.text):
            yield event("response.output_text.delta", **inner, delta=piece, logprobs=[])
        yield event("response.output_text.done", **inner, text=said.text, logprobs=[])
        yield event("response.content_part.done", **inner, part=item["content"][0])
    else:
        yield event("response.function_call_arguments.delta", **place, delta=item["arguments"])
        yield event("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
    yield event("response.output_item.done", output_index=0, item=item)
    yield event("response.completed", response=_response([item], "completed"))


def _empty(said: Said) -> dict[str, Any]:
    return {"content": []} if isinstance(said, Say) else {"arguments": ""}


def _item(said: Said) -> dict[str, Any]:
    number = next(_number)
    if isinstance(said, Say):
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    call = {"call_id": f"call_{number}", "name": said.name, "arguments": json.dumps(said.arguments)}
    return {"id": f"fc_{number}", "type": "function_call", "status": "completed", **call}


def _response(output: list[Any], status: str) -> dict[str, Any]:
    usage = _usage("input_tokens", "output_tokens") | {
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": f"resp_{next(_number)}",
        "object": "response",
        "created_at": 1,
        "model": "stub",
        "status": status,
        "output": output,
        "usage": usage if status == "completed" else None,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def whole_anthropic(said: Said) -> str:
    return json.dumps(_message([_block(said)], _reason(said)))


def stream_anthropic(said: Said) -> Iterator[str]:
    def event(kind: str, **more: Any) -> str:
        return _sse(kind, {"type": kind, **more})

    block = _block(said)
    empty: dict[str, Any] = {"text": ""} if isinstance(said, Say) else {"input": {}}
    yield event("message_start", message=_message([], None))
    yield event("content_block_start", index=0, content_block={**block, **empty})
    if isinstance(said, Say):
        for piece in pieces(said.text):
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    else:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}
        yield event("content_block_delta", index=0, delta=delta)
    yield event("content_block_stop", index=0)
    yield event(
        "message_delta", delta={"stop_reason": _reason(said), "stop_sequence": None}, usage={"output_tokens": 1}
    )
    yield event("message_stop")


def _block(said: Said) -> dict[str, Any]:
    if isinstance(said, Say):
        return {"type": "text", "text": said.text}
    return {"type": "tool_use", "id": f"toolu_{next(_number)}", "name": said.name, "input": dict(said.arguments)}


def _reason(said: Said) -> str:
    return "end_turn" if isinstance(said, Say) else "tool_use"


def _message(content: list[Any], reason: str | None) -> dict[str, Any]:
    head = {"id": f"msg_{next(_number)}", "type": "message", "role": "assistant", "model": "stub"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def whole_ollama(said: Said) -> str:
    return _ollama(said, done=True)


def stream_ollama(said: Said) -> Iterator[str]:
    """Lines of JSON."""
    if isinstance(said, Say):
        yield from (_ollama(Say(piece), done=False) for piece in pieces(said.text))
        said = Say("")
    yield _ollama(said, done=True)


def _ollama(said: Said, *, done: bool) -> str:
    message: dict[str, Any] = {"role": "assistant", "content": said.text if isinstance(said, Say) else ""}
    if isinstance(said, Call):
        message["tool_calls"] = [{"function": {"name": said.name, "arguments": dict(said.arguments)}}]
    body = {"model": "stub", "created_at": "2026-01-02T10:00:00Z", "message": message, "done": done}
    ending = {"done_reason": "stop", "total_duration": 1, "prompt_eval_count": 1, "eval_count": 1} if done else {}
    return json.dumps(body | ending) + "\n"


def pieces(text: str) -> Iterator[str]:
    """About a word each."""
    return (text[start : start + 8] for start in range(0, len(text), 8))


def _sse(kind: str, body: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(body)}\n\n"


def _usage(given: str, made: str) -> dict[str, Any]:
    return {given: 1, made: 1, "total_tokens": 2}


Whole = Callable[[Said], str]
Stream = Callable[[Said], Iterator[str]]
