// Strands for TypeScript: `A2AAgent`. Each call is a conversation of its own.

import { A2AAgent } from "@strands-agents/sdk/a2a";
import { serve } from "../wire.mjs";

/** An agent. */
class Connection {
  constructor(agent) {
    this.agent = agent;
  }

  async say({ text }) {
    const { lastMessage } = await this.agent.invoke(text);
    return { text: lastMessage.content.map((block) => block.text).join("") };
  }

  /** By the events' own `append`. */
  async *stream({ text }) {
    const artifacts = new Map();
    for await (const { event } of this.agent.stream(text)) {
      if (event?.kind !== "artifact-update") continue;
      const { artifactId, parts } = event.artifact;
      const before = event.append ? (artifacts.get(artifactId) ?? "") : "";
      artifacts.set(artifactId, before + parts.map((part) => part.text).join(""));
      yield [...artifacts.values()].join("");
    }
  }
}

await serve(async ({ url }) => new Connection(new A2AAgent({ url })));
