// The JavaScript SDK 1.x, in its 1.0 and its 0.3 mode. It speaks the JSON of 1.0 with us in both.

import { AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse } from "@a2a-js/sdk";
import { Message, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task } from "@a2a-js/sdk";
import {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  TaskPushNotificationConfig,
} from "@a2a-js/sdk";
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
    return AgentCard.toJSON(AgentCard.fromJSON(this.shown));
  }

  async send({ request }, signal) {
    const result = await this.client.sendMessage(SendMessageRequest.fromJSON(request), this.options(signal));
    return "messageId" in result ? { message: Message.toJSON(result) } : { task: Task.toJSON(result) };
  }

  async *stream({ request }, signal) {
    const events = this.client.sendMessageStream(SendMessageRequest.fromJSON(request), this.options(signal));
    for await (const event of events) yield StreamResponse.toJSON(event);
  }

  async *subscribe({ request }, signal) {
    const events = this.client.resubscribeTask(SubscribeToTaskRequest.fromJSON(request), this.options(signal));
    for await (const event of events) yield StreamResponse.toJSON(event);
  }

  async get({ request }, signal) {
    return Task.toJSON(await this.client.getTask(GetTaskRequest.fromJSON(request), this.options(signal)));
  }

  async cancel({ request }, signal) {
    return Task.toJSON(await this.client.cancelTask(CancelTaskRequest.fromJSON(request), this.options(signal)));
  }

  async list_tasks({ request }, signal) {
    return ListTasksResponse.toJSON(
      await this.client.listTasks(ListTasksRequest.fromJSON(request), this.options(signal)),
    );
  }

  async set_push({ request }, signal) {
    const config = TaskPushNotificationConfig.fromJSON(request);
    return TaskPushNotificationConfig.toJSON(
      await this.client.createTaskPushNotificationConfig(config, this.options(signal)),
    );
  }

  async get_push({ request }, signal) {
    const asked = GetTaskPushNotificationConfigRequest.fromJSON(request);
    return TaskPushNotificationConfig.toJSON(
      await this.client.getTaskPushNotificationConfig(asked, this.options(signal)),
    );
  }

  async list_push({ request }, signal) {
    const asked = ListTaskPushNotificationConfigsRequest.fromJSON(request);
    const listed = await this.client.listTaskPushNotificationConfig(asked, this.options(signal));
    return listed.configs.map(TaskPushNotificationConfig.toJSON);
  }

  async delete_push({ request }, signal) {
    const asked = DeleteTaskPushNotificationConfigRequest.fromJSON(request);
    await this.client.deleteTaskPushNotificationConfig(asked, this.options(signal));
  }

  async extended_card(_, signal) {
    return AgentCard.toJSON(await this.client.getAgentCard(this.options(signal)));
  }
}

/** Read the card of that version as it is, with a transport for the binding that is asked for; for all, if none is. */
async function connect({ url, binding, version, token }) {
  const legacyCompat = { enabled: version === "0.3" };
  const resolver = new DefaultAgentCardResolver({ legacyCompat });
  const card = await resolver.resolve(url, version === "0.3" ? ".well-known/agent.json" : undefined);
  const transports = [
    new JsonRpcTransportFactory({ legacyCompat }),
    new RestTransportFactory({ legacyCompat }),
    new GrpcTransportFactory({ legacyCompat }),
  ].filter((transport) => !binding || transport.protocolName === binding);
  const factory = new ClientFactory({ transports, cardResolver: resolver });
  return new Connection(await factory.createFromAgentCard(card), card, token);
}

await serve(connect);
