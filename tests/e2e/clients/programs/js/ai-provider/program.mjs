// a2a-ai-provider: a remote agent as a model of Vercel's AI SDK.

import { a2a } from "a2a-ai-provider";
import { generateText, streamText } from "ai";
import { serve } from "../wire.mjs";

/** The model, and a context for each conversation. */
class Connection {
  constructor(model) {
    this.model = model;
  }

  asked({ text, conversation }) {
    return { model: this.model, prompt: text, providerOptions: { a2a: { contextId: conversation } }, maxRetries: 0 };
  }

  async say(params) {
    return { text: (await generateText(this.asked(params))).text };
  }

  async *stream(params) {
    let shown = "";
    for await (const delta of streamText(this.asked(params)).textStream) yield (shown += delta);
  }
}

await serve(async ({ url }) => new Connection(a2a(`${url}/.well-known/agent-card.json`)));
