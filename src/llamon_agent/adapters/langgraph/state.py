"""How a turn goes into a graph's state, and how its answer is read out of it.

Most graphs keep a list of messages under `messages`. For others the fields of their schema decide. A mapping may name
the keys instead, also that of an answer which is not the last message.

Into the state: text alone stays a plain string, which every graph can read. Data becomes JSON text, and a file of text
becomes text, as not every provider's package takes files of text. Other files become LangChain's content blocks.
Nothing is merged into the state by itself, and nothing that the caller sent is lost unnoticed.

Out of the state: text is the answer; images, audio, video and files are artifacts, one each. Reasoning, tool calls and
all other blocks stay inside.
"""

import logging
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from mimetypes import MimeTypes
from typing import Any

import msgspec
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

from llamon_agent.adapters.artifacts import artifact_made
from llamon_agent.adapters.langgraph.answer import FILES, added_messages, answer_of, kinds_added, string_of_node
from llamon_agent.adapters.langgraph.entrypoint import Entry, Takes, entry_of, state_of
from llamon_agent.adapters.langgraph.hitl.questions import json_safe
from llamon_agent.adapters.langgraph.messages import MESSAGES, readable_messages
from llamon_agent.adapters.langgraph.schema import (
    Placed,
    Schema,
    ignores_messages,
    place,
    schema_of,
    text_among,
    written_fields,
)
from llamon_agent.adapters.langgraph.thread import Graph
from llamon_agent.adapters.langgraph.ui_messages import UI
from llamon_agent.domain.encoding import read_base64, write_base64
from llamon_agent.domain.errors import AgentError, ConfigError
from llamon_agent.domain.events import ArtifactMade, Complete
from llamon_agent.domain.message import TEXT, Data, Message, Part, Raw, Text, Url, media_type_of, sound, texts
from llamon_agent.domain.task import Artifact

STRUCTURED = "structured_response"
"""The state key of a structured answer. Source: langchain create_agent(response_format=...)."""

OUTPUT = "output"
"""The name of the artifact that holds the fields of an answer."""

_NO_FILES = "This agent takes text and data only; send no files."

Block = dict[str, Any]

_KINDS = frozenset({"image", "audio", "video"})
_TEXTS = ("json", "xml", "yaml")

_NAMES = MimeTypes()

_log = logging.getLogger(__name__)

_WITH_FILES = (Takes.MESSAGES, Takes.STATE)


class StateMapping(msgspec.Struct, frozen=True, kw_only=True):
    """Which keys of the state a turn uses.

    Shape: input_key gets the prompt as text; None: the prompt becomes a human message, or fills the fields of a graph
           without messages. output_key holds the answer, as text or as a value that becomes JSON; None: the answer is
           a message (see the module `answer`), or the fields that a graph without messages has written.
    """

    input_key: str | None = None
    output_key: str | None = None


def check_state(graph: Graph, mapping: StateMapping, target: str, agent: str = "NAME") -> None:
    """Refuse, at start, a graph that cannot take a prompt or give an answer.

    Shape:  agent is its name in a configuration, for the text.
    Raises: ConfigError.
    """
    use = state_use(graph, mapping)
    if (use.takes_fields and not use.schema.takes) or (
        use.entry is None and mapping.output_key is None and MESSAGES not in graph.channels and not use.schema.gives
    ):
        raise ConfigError(
            f"The target {target!r}: this graph does not take and give 'messages'; in a configuration file, "
            f"set agents.{agent}.langgraph.input_key to the state key that takes the prompt, "
            f"and agents.{agent}.langgraph.output_key to the one that holds the answer."
        )
    if mapping.input_key is not None and mapping.input_key not in _input_keys(graph):
        raise ConfigError(
            f"The target {target!r}: input_key is '{mapping.input_key}', but the input of this graph has no such key."
        )
    if mapping.output_key is not None and mapping.output_key not in graph.channels:
        raise ConfigError(
            f"The target {target!r}: output_key is '{mapping.output_key}', but the state of this graph has no such key."
        )
    if use.takes_fields and use.schema.text_field is None:
        _log.warning(
            "The target %r: text belongs to no single field of its input (%s), so callers must send data; "
            "agents.<name>.langgraph.input_key can name the field for text",
            target,
            use.schema.listed(),
        )
    if mapping.output_key is None and not use.gives_fields and (beside := _beside_the_answer(use.schema)):
        _log.info("The target %r: callers get its messages, and no other keys of its state (%s)", target, beside)


def _beside_the_answer(schema: Schema) -> str:
    """The keys of the output that no caller gets, for the log."""
    return ", ".join(each.name for each in schema.gives if each.name not in (MESSAGES, STRUCTURED, UI))


class StateUse(msgspec.Struct, frozen=True, kw_only=True):
    """How a graph's state is used, decided once for each graph.

    Shape: takes_fields: a message fills fields of the input; gives_fields: the answer is fields of the output, besides
           the last AI message where reads_messages is set too. entry says how a graph of the functional API is called.
    """

    mapping: StateMapping
    schema: Schema
    takes_fields: bool
    gives_fields: bool
    reads_messages: bool
    entry: Entry | None = None

    @property
    def text_field(self) -> str | None:
        """The field that the text of a message fills."""
        return self.mapping.input_key or self.schema.text_field

    @property
    def streamed_key(self) -> str | None:
        """The key whose text is streamed. Shape: None: messages are streamed; empty: nothing is."""
        if self.mapping.output_key is not None or self.reads_messages:
            return self.mapping.output_key
        return text_among(self.schema, {each.name for each in self.schema.gives}, self.text_field) or ""

    def placed(self, message: Message, ids: Mapping[str, str]) -> Placed | None:
        """A message as the fields that it fills; None where the graph takes messages, or a key is configured."""
        if not self.takes_fields and (self.entry is None or self.entry.takes in _WITH_FILES):
            return None
        if self.entry is not None and self.entry.takes is Takes.TEXT:
            return self._placed(message, message.parts, (), ids)
        rest = tuple(part for part in message.parts if not isinstance(part, Data))
        data = [part.data for part in message.parts if isinstance(part, Data)]
        return self._placed(message, rest, data, ids)

    def _placed(
        self, message: Message, rest: Sequence[Part], data: Sequence[Any], ids: Mapping[str, str]
    ) -> Placed | None:
        """Shape: rest are the parts that are text, and data those that are not."""
        content = content_of(msgspec.structs.replace(message, parts=tuple(rest)), "\n".join(texts(rest)))
        if not isinstance(content, str):
            is_mapping = self.entry is not None and self.entry.takes is Takes.MAPPING
            return None if is_mapping else Placed(problem=_NO_FILES)
        text = content if content or not data else None
        return place(self.schema, text, data, ids) if self.entry is None else self.entry.placed(text, data, ids)

    def given(self, values: Any) -> Any:
        """The input of a run, from that of a state."""
        return values if self.entry is None else self.entry.argument(values)

    def read(self, values: Any) -> Any:
        """What a run gives as its values, as a state."""
        return values if self.entry is None or _is_question(values) else state_of(values)


def state_use(graph: Graph, mapping: StateMapping) -> StateUse:
    """How a graph's state is used. A graph that takes messages, or whose input key is configured, answers with them."""
    if (entry := entry_of(graph)) is not None:
        takes_fields = entry.takes is Takes.FIELDS
        return StateUse(
            mapping=mapping,
            schema=entry.schema,
            takes_fields=takes_fields,
            gives_fields=False,
            reads_messages=True,
            entry=entry,
        )
    schema = schema_of(graph)
    takes_fields = mapping.input_key is None and (MESSAGES not in _input_keys(graph) or ignores_messages(graph))
    has_messages = MESSAGES in graph.channels
    return StateUse(
        mapping=mapping,
        schema=schema,
        takes_fields=takes_fields,
        gives_fields=mapping.output_key is None and (takes_fields or not has_messages),
        reads_messages=mapping.output_key is None
        and has_messages
        and (not takes_fields or any(each.name == MESSAGES for each in schema.gives)),
    )


def check_memory(graph: Graph, window_size: int | None, target: str) -> None:
    """Refuse, at start, a window that cannot be kept. Raises: ConfigError."""
    if window_size is None:
        return
    if window_size < 1:
        raise ConfigError(f"The target {target!r}: window_size counts messages and must be at least 1.")
    channel = graph.channels.get(MESSAGES)
    if not (isinstance(channel, BinaryOperatorAggregate) and channel.operator is add_messages):
        raise ConfigError(
            f"The target {target!r}: window_size needs a state whose 'messages' use add_messages, as only those can be "
            "removed; leave window_size out."
        )


def content_of(message: Message, prompt: str) -> str | list[str | Block]:
    """The content of the human message that a caller's message becomes.

    Shape: prompt is the message's text already joined; a string where every part is or becomes text, else a list of
           blocks in the order of the parts.
    """
    if all(isinstance(part, Text) for part in message.parts):
        return prompt
    blocks = [_block(part) for part in message.parts]
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return list(blocks)


def state_in(mapping: StateMapping, messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The input of a turn, whose last message is the current one.

    Raises: AgentError: the graph takes text, and the message has files.
    """
    if mapping.input_key is None:
        return {MESSAGES: list(messages)}
    if not isinstance(messages[-1].content, str):
        raise AgentError(_NO_FILES)
    return {mapping.input_key: messages[-1].content}


class GraphResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run.

    Shape: text is the whole answer, None where the state holds none; files are those of the answer's message; data is
           the structured response, or the fields that the run has written, UNSET where the run made none.
    """

    text: str | None = None
    files: tuple[Raw | Url, ...] = ()
    data: Any = msgspec.UNSET
    data_name: str = STRUCTURED


_NO_MAPPING = StateMapping()
_EMPTY = (GraphResult(), GraphResult(text=""))


def result_of_run(
    mapping: StateMapping, before: Any, after: Any, is_sent: Callable[[BaseMessage], bool] = lambda _: False
) -> GraphResult:
    """The result of a run, from the state at its start and at its end.

    Shape: is_sent says whether the caller sent a message.
    """
    data = _structured(before, after)
    if mapping.output_key is not None:
        answer = after.get(mapping.output_key) if isinstance(after, dict) else None
    else:
        added = added_messages(before, after)
        answer = answer_of(added) or string_of_node(added, before, is_sent)
    text = _text_of(answer)
    if data is not msgspec.UNSET and isinstance(answer, ToolMessage):
        text = _text_of(data)  # a tool call made it, and the tool's result says only that
    files = tuple(files_in(answer)) if isinstance(answer, BaseMessage) else ()
    result = GraphResult(text=text, files=files, data=data)
    if mapping.output_key is None and result in _EMPTY:
        _warn_of_no_answer(before, after)
    return result


def _warn_of_no_answer(before: Any, after: Any) -> None:
    """Log why a task will have no text. Shape: kinds only, as the content is not for the log."""
    kinds = kinds_added(before, after)
    if kinds:
        _log.warning(
            "the task has no text: none of the messages that its run added is an answer (the last ones: %s)",
            ", ".join(kinds[-3:]),
        )


def result_with_fields(
    use: StateUse, result: GraphResult, begun: Any, after: Any, written: Collection[str], filled: Collection[str]
) -> GraphResult:
    """The result of a run whose answer is fields. For begun, written and filled see `written_fields`."""
    found = written_fields(use.schema, begun, after, written, filled)
    if not found:
        return result
    key = text_among(use.schema, found, use.text_field)
    text = _text_of(found if key is None else found[key])
    return msgspec.structs.replace(
        result, text=text if result.text is None else result.text, data=found, data_name=OUTPUT
    )


def result_of_entry(after: Any, is_sent: Callable[[BaseMessage], bool]) -> GraphResult:
    """The result of a run of the functional API, from what it has returned, as a state.

    Shape: of a whole conversation, the messages after the last one that the caller sent count. Other fields are data;
           the only string among them is the text, if no message is.
    """
    messages = readable_messages(after)
    sent = [place for place, message in enumerate(messages, 1) if is_sent(message)]
    result = result_of_run(_NO_MAPPING, {}, {**after, MESSAGES: messages[sent[-1] if sent else 0 :]}, is_sent)
    found = {name: json_safe(value) for name, value in after.items() if name != MESSAGES}
    if not found:
        return result
    strings = [value for value in found.values() if isinstance(value, str)]
    text = (strings[0] if len(strings) == 1 else _text_of(found)) if result.text is None else result.text
    return msgspec.structs.replace(result, text=text, data=found, data_name=OUTPUT)


def _is_question(values: Any) -> bool:
    return isinstance(values, dict) and "__interrupt__" in values


def _structured(before: Any, after: Any) -> Any:
    """The structured response that the run wrote, as JSON.

    A thread keeps the one of an earlier turn. That one is the same object before and after, and not merely equal.
    """
    made = after.get(STRUCTURED) if isinstance(after, dict) else None
    is_old = isinstance(before, dict) and before.get(STRUCTURED) is made
    return msgspec.UNSET if made is None or is_old else json_safe(made)


def files_in(message: BaseMessage) -> list[Raw | Url]:
    """The files that a message holds, in order.

    Shape: also files in the forms of the providers that LangChain knows. A file that only its provider has (by
           `file_id`), or that cannot be read, is left out with a warning.
    """
    if isinstance(message.content, str):
        return []
    blocks: list[Any] = list(message.content_blocks)
    found = [_file_in(block) for block in blocks if block["type"] in FILES]
    return [file for file in found if file is not None]


def _input_keys(graph: Graph) -> Container[str]:
    """The keys that a graph's input takes; they may be fewer than those of its state."""
    return (
        graph.builder.schemas[graph.builder.input_schema] if isinstance(graph, CompiledStateGraph) else graph.channels
    )


def _text_of(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value.text) if isinstance(value, BaseMessage) else msgspec.json.encode(json_safe(value)).decode()


def _block(part: Part) -> Block:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Data(data=data):
            return {"type": "text", "text": msgspec.json.encode(data).decode()}
        case Raw(data=data):
            decoded = _text_in(part)
            return _file(part, "base64", write_base64(data)) if decoded is None else _named(part, decoded)
        case Url(url=url):
            return _file(part, "url", url)


def _text_in(file: Raw) -> str | None:
    """The text of a file whose media type says that it is text, if it is UTF-8."""
    kind, _, subtype = media_type_of(file).partition("/")
    if kind != "text" and subtype.rpartition("+")[2] not in _TEXTS:
        return None
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _named(file: Raw, text: str) -> Block:
    return {"type": "text", "text": text if file.filename is None else f"{file.filename}:\n{text}"}


def _file(part: Raw | Url, key: str, value: str) -> Block:
    """A file block by its media type. Source: langchain_core.messages.content (ImageContentBlock and its like).

    A file that is given by its bytes always has a name, as providers require one.
    """
    media_type = media_type_of(part)
    kind = media_type.partition("/")[0]
    kind = kind if kind in _KINDS else "file"
    block: Block = {"type": kind, key: value, "mime_type": media_type}
    name = part.filename or (_default_name(media_type) if (kind, key) == ("file", "base64") else None)
    if name is not None:
        block["extras"] = {"filename": name}
    return block


def _default_name(media_type: str) -> str:
    return "file" + (_NAMES.guess_extension(media_type) or "")


def _file_in(block: Block) -> Raw | Url | None:
    media_type, filename = _str(block.get("mime_type")), _filename_of(block)
    match block:
        case {"base64": str(encoded)}:
            with suppress(ValueError):
                data = read_base64("".join(encoded.split()))
                return Raw(data=data, media_type=media_type, filename=filename)
        case {"url": str(url)}:
            return Url(url=url, media_type=media_type, filename=filename)
        case {"type": "text-plain", "text": str(text)}:
            return Raw(data=sound(text).encode(), media_type=media_type or TEXT, filename=filename)
    _log.warning("an answer holds a %s that cannot be read here; the caller does not get it", block["type"])
    return None


def _filename_of(block: Block) -> str | None:
    extras = block.get("extras")
    places = (extras.get("filename") if isinstance(extras, dict) else None, block.get("filename"), block.get("title"))
    return next((name for place in places if (name := _str(place))), None)


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None


def ending_of(result: GraphResult, answer_id: str) -> Iterator[ArtifactMade | Complete]:
    """The last events of a run: each file of the answer, its structured response or its fields, and its text.

    Shape: the ids of artifacts begin with the answer's id, so that a repeated run replaces them.
    """
    for number, file in enumerate(result.files, 1):
        yield artifact_made(Artifact(artifact_id=f"{answer_id}-{number}", parts=(file,), name=file.filename))
    if result.data is not msgspec.UNSET:
        artifact_id = f"{answer_id}-{result.data_name}"
        yield artifact_made(Artifact(artifact_id=artifact_id, parts=(Data(data=result.data),), name=result.data_name))
    yield Complete(text=result.text or "")
