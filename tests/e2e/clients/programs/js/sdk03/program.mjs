// The JavaScript SDK 0.3.x. It speaks the JSON of 0.3 with us.

import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { serve } from "../wire.mjs";

/** A client for one interface of the card. */
class Connection {
  constructor(client, card, token) {
    this.client = client;
    this.shown = card;
    this.headers = token ? { authorization: `Bearer ${token}` } : {};
  }

  options(signal) {
    return { signal, serviceParameters: this.headers };
  }

  async card() {
    return this.shown;
  }

  send({ request }, signal) {
    return this.client.sendMessage(request, this.options(signal));
  }

  stream({ request }, signal) {
    return this.client.sendMessageStream(request, this.options(signal));
  }

  subscribe({ request }, signal) {
    return this.client.resubscribeTask(request, this.options(signal));
  }

  get({ request }, signal) {
    return this.client.getTask(request, this.options(signal));
  }

  cancel({ request }, signal) {
    return this.client.cancelTask(request, this.options(signal));
  }

  set_push({ request }, signal) {
    return this.client.setTaskPushNotificationConfig(request, this.options(signal));
  }

  get_push({ request }, signal) {
    return this.client.getTaskPushNotificationConfig(request, this.options(signal));
  }

  list_push({ request }, signal) {
    return this.client.listTaskPushNotificationConfig(request, this.options(signal));
  }

  delete_push({ request }, signal) {
    return this.client.deleteTaskPushNotificationConfig(request, this.options(signal));
  }

  extended_card(_, signal) {
    return this.client.getAgentCard(this.options(signal));
  }
}

/** Read the card, and take the interface that is asked for; or the card's first. */
async function connect({ url, binding, token }) {
  const card = await new DefaultAgentCardResolver().resolve(url);
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
    preferredTransports: binding ? [binding] : [],
  });
  return new Connection(await factory.createFromAgentCard(card), card, token);
}

await serve(connect);
