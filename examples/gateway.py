"""A graph that hands its conversation to a remote A2A agent: one edge as the host of another.

The remote agent's words stream through, its questions are asked here and answered there, and stopping here stops there.
Put nodes before it (a router, say) or after it as you like; several remote agents are several nodes.

    llamon serve examples/demo_agent.py:graph
    export REMOTE_AGENT_URL=http://127.0.0.1:8000
    llamon serve examples/gateway.py:graph --listen 127.0.0.1:8001 --data data-gateway
"""

import os

from langgraph.graph import START, MessagesState, StateGraph

from llamon_agent.client.langgraph.graph_node import remote_agent_node

remote = remote_agent_node(
    os.environ.get("REMOTE_AGENT_URL", "http://127.0.0.1:8000"),
    token=os.environ.get("REMOTE_AGENT_TOKEN"),
    forward_headers=("traceparent", "x-request-id"),  # where `a2a.caller_headers` has them too
)

builder = StateGraph(MessagesState)
builder.add_node("remote", remote)
builder.add_edge(START, "remote")

graph = builder.compile(name="gateway")
"""The graph, without a checkpointer: the server brings one."""
