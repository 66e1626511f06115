"""The store of a graph: what its code keeps across conversations."""
