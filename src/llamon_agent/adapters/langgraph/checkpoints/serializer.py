"""How the values of a thread become bytes: by LangGraph's serializer, and by Python's pickle where that knows no way.

Theory. LangGraph's serializer knows JSON's values, messages, pydantic models, dataclasses and some more. It refuses a
model with a URL, a data frame, an integer of more than 64 bits, an object of the project's own class. LangGraph's
server pickles these, so projects that were written for it keep them in their state.

Reading a pickle can run code, so who can write to the threads could run code here. That is so without it: LangGraph's
serializer makes an object of whatever class a row names. `LANGGRAPH_STRICT_MSGPACK` ends that, and so does a list of
the classes that may be made (`langgraph.allowed_msgpack_modules`). Then nothing is pickled here.

What a call brought, its claims and headers, refuses to be pickled, so that no state keeps them (`domain.caller`).

Source: langgraph_api.serde.Serializer; langgraph.checkpoint.serde.jsonplus.JsonPlusSerializer.
"""

from collections.abc import Iterable
from inspect import signature

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from llamon_agent.adapters.langgraph.versions import only_known_types
from llamon_agent.domain.errors import ConfigError

_ALLOWED = "allowed_msgpack_modules"


def serializer() -> JsonPlusSerializer:
    """The serializer of a checkpointer that an edge opens.

    Raises: at saving, whatever pickle raises for a value that it cannot take either, such as a lock or a connection.
    """
    return JsonPlusSerializer(pickle_fallback=not only_known_types())


def strict_serializer(classes: Iterable[str]) -> JsonPlusSerializer:
    """A serializer that makes only objects of LangGraph's known classes and of these, `package.module:Class`.

    Raises: ConfigError: LangGraph is too old for it. At saving, TypeError for a value of a class that it cannot encode.
    """
    if _ALLOWED not in signature(JsonPlusSerializer.__init__).parameters:
        raise ConfigError(f"langgraph.{_ALLOWED} needs langgraph-checkpoint 4.0 or newer; install it, or leave it out.")
    return JsonPlusSerializer(allowed_msgpack_modules=[tuple(each.split(":")) for each in classes])
