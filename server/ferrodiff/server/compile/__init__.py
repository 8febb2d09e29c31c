"""Annotated source to machine code: rewriting, rustc, differentiation, linking."""
