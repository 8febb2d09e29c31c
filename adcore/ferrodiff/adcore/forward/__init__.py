"""Forward mode: the JVP transform. Each primal instruction is copied and followed by its tangent."""
