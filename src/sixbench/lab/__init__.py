"""Networks: how a topology becomes commands, and commands become namespaces. And what this machine can do.

Describing and doing are apart: `render` computes what to run without touching the machine, `build` runs it through the
`Node` interface that `bench` fills with agents. Imports `model` only.
"""
