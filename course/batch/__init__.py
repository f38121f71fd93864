"""`course batch`: many notebook runs with different parameters, which can be resumed."""
