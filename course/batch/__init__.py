"""`course batch`: many runs of notebooks over parameters, resumed where they stopped."""
