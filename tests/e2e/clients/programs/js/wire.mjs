// How a client's program is spoken to: see wire.py, of which this is the same in JavaScript.

import { Console } from "node:console";
import { createInterface } from "node:readline";

globalThis.console = new Console(process.stderr); // some packages log to stdout, which has our lines

/** Answer until stdin ends. `connect` makes the connection that later calls name. */
export async function serve(connect) {
  const connections = new Map();
  const calls = new Map();
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    if (asked.drop) {
      calls.get(asked.id).abort();
    } else {
      const aborter = new AbortController();
      calls.set(asked.id, aborter);
      answer(connect, connections, asked, aborter.signal);
    }
  }
}

async function answer(connect, connections, { id, call, of, params }, signal) {
  let end = null;
  try {
    if (call === "connect") {
      connections.set(of, await connect(params));
    } else {
      await make(id, connections.get(of)[call](params, signal));
    }
  } catch (error) {
    end = { type: error.constructor.name, text: told(error) };
  }
  say({ id, end });
}

async function make(id, made) {
  if (Symbol.asyncIterator in made) {
    for await (const value of made) say({ id, value });
  } else {
    say({ id, value: (await made) ?? null });
  }
}

/** An error in words, with its code and its causes, as these SDKs spread what they know over them. */
function told(error) {
  const own = [error.constructor.name, error.reason, error.code, error.statusCode, error.message];
  const text = own.filter((word) => word !== undefined).join(" ");
  return error.cause ? `${text} / ${told(error.cause)}` : text;
}

function say(said) {
  process.stdout.write(JSON.stringify(said) + "\n");
}
