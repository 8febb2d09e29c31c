"""Pass pipelines, machine code, execution. The only package that imports ``llvmlite.binding``."""
