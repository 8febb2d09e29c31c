"""LLVM IR as typed Python objects: reader, writer, builder."""
