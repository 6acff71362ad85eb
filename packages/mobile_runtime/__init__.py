"""Models on phones: their files, and the interpreter that runs them.

Names are imported from the modules: `qanat.mobile_runtime.interpreter`, `.model`, `.model_file`.
"""
