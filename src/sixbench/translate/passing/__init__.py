"""The packets of a capture through the device of an engine, in a throw-away network: `network` has the parts of it,
`translators` and `tunnels` describe it, `passage` sends packets and collects what comes out, and `counted` reads what
the counters of the device and its node say of a packet."""
