"""Algorithm 3, one pure module a step: arrays in, arrays or small frozen dataclasses out."""
