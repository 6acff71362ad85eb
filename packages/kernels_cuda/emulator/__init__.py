"""A GPU for tests: the kernels of `cu/` as C++, behind a driver of this machine's memory."""
