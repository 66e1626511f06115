"""Push notifications: what happens to a task is posted to webhooks, while no client is connected."""
