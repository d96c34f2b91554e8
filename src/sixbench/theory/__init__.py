"""Expected costs of paths: headers, wire efficiency, limits of goodput. Pure arithmetic.

::

    headers   the sizes that the RFCs give, and the room that a frame takes on an Ethernet wire
    stacks    which network headers a mechanism's packets carry
    packets   a message cut into TCP segments, or a datagram into IPv4 or IPv6 fragments
    pieces, treatment
              what one node makes of a packet that is too long, and what else nodes do to fragments
    prediction
              what becomes of a datagram, link by link and node by node
    fragmentation
              a datagram followed through a network: its fragments on each link, and what path MTU discovery costs
    limits    the size that passes a network, and the rate of its tightest link
    declared  values of what a workload itself declares (`model.expectation`)
    exchanges the bytes of a transaction on each link
    pages     the least times of a page, by its round trips and its bytes
    expected  theory for the metrics of a trial, as `TrialRecord.theory` keeps it
    expected_amid_changes  the same, where a link changes during the trial
    table     rows for `sixbench theory`; Table 1 of raicu-stack-rtt

It imports `model` only. Numbers that are not exact are not given. docs/theory.md says what each number leaves out.
"""

from ..model.headers import frame_bytes, wire_bytes
from .changing import expected_amid_changes
from .exchanges import exchange_wire_bytes
from .expected import expected
from .fragmentation import NotPredicted, predict, settle
from .limits import path_mtu
from .packets import Transport, message_packets, tcp_payload_bytes
from .pieces import POLICIES, Policy
from .prediction import Attempt, LinkLoad, Prediction, Work
from .stacks import CrossedLink, stack_of
from .table import FullPacket, Row, full_packet, raicu_table_1, table
