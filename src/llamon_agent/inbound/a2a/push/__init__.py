"""Push notifications: webhooks that are told of a task while nobody is connected."""
