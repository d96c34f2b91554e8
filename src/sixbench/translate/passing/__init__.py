"""The packets of a capture through the device of an engine, in a throw-away network: `network` describes it, `passage`
sends packets and tells what came out, `counted` reads what the counters of the device and its node say of a packet."""
