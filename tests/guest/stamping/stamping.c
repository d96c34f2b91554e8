// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interfaces whose hardware stamps every frame, for tests: eth1 is joined with dut1, and eth2 with dut2. What a port
 * sends comes out of the other one after WIRE_NS by the ports' clock, which is ahead of the system's by AHEAD_NS (and
 * that of eth2 by as much again, where there are two clocks). So what is measured by the wrong clock is off by that.
 */
#include <linux/ethtool.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/ptp_clock_kernel.h>

#define AHEAD_NS 37000123456LL
#define WIRE_NS	 1000
#define PORTS	 4
#define CLOCKS	 2

static int clocks = 1;
module_param(clocks, int, 0444);
MODULE_PARM_DESC(clocks, "1: both ports have one clock; 2: one each");
static bool stamps = true;
module_param(stamps, bool, 0444);
MODULE_PARM_DESC(stamps, "whether frames that are sent are stamped, as the interfaces say");

static const char *const names[PORTS] = {"eth1", "dut1", "eth2", "dut2"};
static struct net_device *ports[PORTS];

struct clock {
	struct ptp_clock_info info;
	struct ptp_clock *ptp;
	s64 ahead_ns;
};

static struct clock all_clocks[CLOCKS];

struct port {
	struct net_device *peer;
	struct clock *clock;
	struct hwtstamp_config setting;
};

static ktime_t now_of(const struct clock *clock)
{
	return ktime_add_ns(ktime_get_real(), clock->ahead_ns);
}

static int clock_gettimex(struct ptp_clock_info *info, struct timespec64 *time, struct ptp_system_timestamp *system)
{
	ptp_read_system_prets(system);
	*time = ktime_to_timespec64(now_of(container_of(info, struct clock, info)));
	ptp_read_system_postts(system);
	return 0;
}

static int clock_settime(struct ptp_clock_info *info, const struct timespec64 *time)
{
	return -EOPNOTSUPP;
}

static int clock_adjtime(struct ptp_clock_info *info, s64 delta_ns)
{
	return -EOPNOTSUPP;
}

static int clock_adjfine(struct ptp_clock_info *info, long ppm)
{
	return 0;
}

static bool is_stamped(const struct port *port, const struct sk_buff *came)
{
	bool is_ptp = came->protocol == htons(ETH_P_1588);

	return port->setting.rx_filter == HWTSTAMP_FILTER_ALL ||
	       (is_ptp && port->setting.rx_filter != HWTSTAMP_FILTER_NONE);
}

static netdev_tx_t port_xmit(struct sk_buff *sent, struct net_device *dev)
{
	struct port *port = netdev_priv(dev);
	struct port *peer = netdev_priv(port->peer);
	/* A stamp is of the frame's own memory: that of who sent it is another one. */
	struct sk_buff *came = skb_copy(sent, GFP_ATOMIC);
	ktime_t left = now_of(port->clock), arrived = ktime_add_ns(now_of(peer->clock), WIRE_NS);

	if (stamps && port->setting.tx_type == HWTSTAMP_TX_ON && skb_shinfo(sent)->tx_flags & SKBTX_HW_TSTAMP) {
		struct skb_shared_hwtstamps times = {.hwtstamp = left};

		skb_shinfo(sent)->tx_flags |= SKBTX_IN_PROGRESS;
		skb_tstamp_tx(sent, &times);
	}
	dev->stats.tx_packets++;
	dev->stats.tx_bytes += sent->len;
	port->peer->stats.rx_packets++;
	port->peer->stats.rx_bytes += sent->len;
	dev_consume_skb_any(sent);
	if (came && __dev_forward_skb(port->peer, came) == NET_RX_SUCCESS) {
		if (is_stamped(peer, came))
			skb_hwtstamps(came)->hwtstamp = arrived;
		netif_rx(came);
	}
	return NETDEV_TX_OK;
}

static int port_ioctl(struct net_device *dev, struct ifreq *request, int command)
{
	struct port *port = netdev_priv(dev);
	struct hwtstamp_config setting;

	if (command == SIOCGHWTSTAMP)
		return copy_to_user(request->ifr_data, &port->setting, sizeof(setting)) ? -EFAULT : 0;
	if (command != SIOCSHWTSTAMP)
		return -EOPNOTSUPP;
	if (copy_from_user(&setting, request->ifr_data, sizeof(setting)))
		return -EFAULT;
	port->setting = setting;
	return copy_to_user(request->ifr_data, &setting, sizeof(setting)) ? -EFAULT : 0;
}

static const struct net_device_ops port_operations = {
	.ndo_start_xmit = port_xmit,
	.ndo_eth_ioctl = port_ioctl,
	.ndo_set_mac_address = eth_mac_addr,
};

static int port_ts_info(struct net_device *dev, struct ethtool_ts_info *info)
{
	struct port *port = netdev_priv(dev);

	info->so_timestamping =
		SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = ptp_clock_index(port->clock->ptp);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_PTP_V2_EVENT) | BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

static const struct ethtool_ops port_ethtool = {
	.get_link = ethtool_op_get_link,
	.get_ts_info = port_ts_info,
};

static void port_setup(struct net_device *dev)
{
	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &port_operations;
	dev->ethtool_ops = &port_ethtool;
}

static void remove_all(void)
{
	int i;

	for (i = 0; i < PORTS; i++)
		if (ports[i]) {
			unregister_netdev(ports[i]);
			free_netdev(ports[i]);
		}
	for (i = 0; i < CLOCKS; i++)
		if (!IS_ERR_OR_NULL(all_clocks[i].ptp))
			ptp_clock_unregister(all_clocks[i].ptp);
}

static int __init stamping_init(void)
{
	int i, error = 0;

	for (i = 0; i < CLOCKS; i++) {
		all_clocks[i].ahead_ns = (i + 1) * AHEAD_NS;
		all_clocks[i].info = (struct ptp_clock_info){
			.owner = THIS_MODULE,
			.name = "stamping",
			.max_adj = 1000000,
			.gettimex64 = clock_gettimex,
			.settime64 = clock_settime,
			.adjtime = clock_adjtime,
			.adjfine = clock_adjfine,
		};
		all_clocks[i].ptp = ptp_clock_register(&all_clocks[i].info, NULL);
		if (IS_ERR_OR_NULL(all_clocks[i].ptp))
			error = -ENODEV;
	}
	for (i = 0; !error && i < PORTS; i++) {
		struct net_device *dev = alloc_netdev(sizeof(struct port), names[i], NET_NAME_USER, port_setup);
		struct port *port;

		if (!dev) {
			error = -ENOMEM;
			break;
		}
		port = netdev_priv(dev);
		port->clock = &all_clocks[clocks > 1 && i >= 2];
		error = register_netdev(dev);
		if (error)
			free_netdev(dev);
		else
			ports[i] = dev;
	}
	for (i = 0; !error && i < PORTS; i++)
		((struct port *)netdev_priv(ports[i]))->peer = ports[i ^ 1];
	if (error)
		remove_all();
	return error;
}
module_init(stamping_init);
module_exit(remove_all);

MODULE_DESCRIPTION("Interfaces that stamp frames, for tests");
MODULE_LICENSE("GPL");
