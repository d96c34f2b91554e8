/* A realtime clock that is set wrong and drifts, for programs that have this in LD_PRELOAD.
 *
 * SIXBENCH_WRONG_CLOCK is three integers: how many nanoseconds the clock is ahead at a moment, by how many millionths
 * it is too fast, and that moment, in nanoseconds since 1970. What it shows depends on the true time alone. So all
 * programs of a machine agree, and so do the kernel's timestamps of packets, which come to them by recvmsg and
 * recvmmsg.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define SECOND_NS 1000000000LL

static long long ahead_ns, fast_ppm, since_ns;

__attribute__((constructor)) static void read_settings(void)
{
	const char *settings = getenv("SIXBENCH_WRONG_CLOCK");

	if (!settings || sscanf(settings, "%lld,%lld,%lld", &ahead_ns, &fast_ppm, &since_ns) != 3)
		abort();
}

static void make_wrong(struct timespec *time)
{
	long long true_ns = time->tv_sec * SECOND_NS + time->tv_nsec;
	long long shown_ns = true_ns + ahead_ns + (true_ns - since_ns) * fast_ppm / 1000000;

	time->tv_sec = shown_ns / SECOND_NS;
	time->tv_nsec = shown_ns % SECOND_NS;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static int (*next)(clockid_t, struct timespec *);
	int failed;

	if (!next)
		next = dlsym(RTLD_NEXT, "clock_gettime");
	failed = next(clock, time);
	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		make_wrong(time);
	return failed;
}

static void make_timestamps_wrong(struct msghdr *message)
{
	struct cmsghdr *header;

	for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header))
		if (header->cmsg_level == SOL_SOCKET &&
		    (header->cmsg_type == SO_TIMESTAMPNS || header->cmsg_type == SO_TIMESTAMPING)) {
			/* Of SO_TIMESTAMPING's three times the first one is the kernel's. */
			struct timespec *time = (struct timespec *)CMSG_DATA(header);

			if (time->tv_sec)
				make_wrong(time);
		}
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
	static ssize_t (*next)(int, struct msghdr *, int);
	ssize_t received;

	if (!next)
		next = dlsym(RTLD_NEXT, "recvmsg");
	received = next(socket, message, flags);
	if (received >= 0)
		make_timestamps_wrong(message);
	return received;
}

int recvmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout)
{
	static int (*next)(int, struct mmsghdr *, unsigned int, int, struct timespec *);
	int received, index;

	if (!next)
		next = dlsym(RTLD_NEXT, "recvmmsg");
	received = next(socket, messages, count, flags, timeout);
	for (index = 0; index < received; index++)
		make_timestamps_wrong(&messages[index].msg_hdr);
	return received;
}
