"""`course doctor`: finds problems on a machine and shows how to fix them."""
