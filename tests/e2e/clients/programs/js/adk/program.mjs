// Google's ADK for JavaScript: `RemoteA2AAgent` as the root agent of a runner with sessions in memory.

import { InMemoryRunner, RemoteA2AAgent, StreamingMode } from "@google/adk";
import { serve } from "../wire.mjs";

const USER = "user";

/** A runner, with a session for each conversation, and the history that the next request sends. */
class Connection {
  constructor(agentCard) {
    const agent = new RemoteA2AAgent({
      name: "remote",
      agentCard,
      beforeRequestCallbacks: [(_, params) => this.withHistory(params)],
    });
    this.runner = new InMemoryRunner({ agent, appName: "app" });
  }

  withHistory(params) {
    if (this.history) params.message.metadata = { ...params.message.metadata, history: this.history };
  }

  /** What the session keeps of the turn. */
  async say({ text, conversation, history }) {
    this.history = history;
    let shown = "";
    let failed = false;
    for await (const event of this.run(text, conversation)) {
      failed ||= Boolean(event.errorCode ?? event.errorMessage);
      if (!event.partial) shown += textOf(event);
    }
    return { text: shown, failed };
  }

  /** Partial events add to what is shown, a whole one takes their place. */
  async *stream({ text, conversation }) {
    let shown = "";
    for await (const event of this.run(text, conversation, { streamingMode: StreamingMode.SSE })) {
      if (!textOf(event)) continue;
      shown = event.partial ? shown + textOf(event) : textOf(event);
      yield shown;
    }
  }

  async *run(text, conversation, runConfig) {
    const which = { appName: "app", userId: USER, sessionId: conversation };
    const sessions = this.runner.sessionService;
    if (!(await sessions.getSession(which))) await sessions.createSession(which);
    const newMessage = { role: "user", parts: [{ text }] };
    yield* this.runner.runAsync({ userId: USER, sessionId: conversation, newMessage, runConfig });
  }
}

/** Without thoughts, which is how ADK shows a status message of work that goes on. */
function textOf(event) {
  return (event.content?.parts ?? [])
    .filter((part) => part.text && !part.thought)
    .map((part) => part.text)
    .join("");
}

await serve(async ({ url }) => new Connection(url));
