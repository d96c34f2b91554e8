/* Preloaded into sixbench and its agents by `make endurance`: a disk that is slow, and a clock that is stepped.
 *
 * ENDURANCE_CLOCK names a file that holds the step of CLOCK_REALTIME in seconds, as a number of 8 bytes in this
 * machine's order. It is mapped, so that whoever writes it steps the clock of all at once. ENDURANCE_SLOW_US is how
 * much longer each call takes that waits for the disk.
 *
 * The kernel's times of packets, which come with recvmsg(2), are moved as well, as a real step would move them. Only
 * sixbench and its agents see the step. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *step_s;
static useconds_t slow_us;

__attribute__((constructor)) static void begin(void)
{
	const char *clock = getenv("ENDURANCE_CLOCK"), *slow = getenv("ENDURANCE_SLOW_US");
	int is_ours = !strncmp(program_invocation_short_name, "python", 6) ||
		      !strncmp(program_invocation_short_name, "sixbench", 8);
	int file = clock && is_ours ? open(clock, O_RDONLY | O_CLOEXEC) : -1;

	if (file >= 0) {
		void *mapped = mmap(NULL, sizeof(*step_s), PROT_READ, MAP_SHARED, file, 0);
		if (mapped != MAP_FAILED)
			step_s = mapped;
		close(file);
	}
	if (slow)
		slow_us = (useconds_t)strtoul(slow, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);
	int result;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	result = real(clock, now);
	if (result == 0 && step_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += *step_s;
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;
	int result = clock_gettime(CLOCK_REALTIME, &precise);

	(void)zone;
	now->tv_sec = precise.tv_sec;
	now->tv_usec = precise.tv_nsec / 1000;
	return result;
}

time_t time(time_t *where)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (where)
		*where = now.tv_sec;
	return now.tv_sec;
}

/* SCM_TIMESTAMPNS has one time, SCM_TIMESTAMPING three, of which those that are not there are 0. */
static void step_times(struct msghdr *message)
{
	struct cmsghdr *part;

	if (!step_s || !*step_s)
		return;
	for (part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		struct timespec *times = (struct timespec *)CMSG_DATA(part);
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(*times), at;

		if (part->cmsg_level != SOL_SOCKET ||
		    (part->cmsg_type != SO_TIMESTAMPNS && part->cmsg_type != SO_TIMESTAMPING))
			continue;
		for (at = 0; at < count; at++)
			if (times[at].tv_sec)
				times[at].tv_sec += *step_s;
	}
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags)
{
	static ssize_t (*real)(int, struct msghdr *, int);
	ssize_t result;

	if (!real)
		real = (ssize_t (*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
	result = real(socket, message, flags);
	if (result >= 0)
		step_times(message);
	return result;
}

int recvmmsg(int socket, struct mmsghdr *messages, unsigned int most, int flags, struct timespec *timeout)
{
	static int (*real)(int, struct mmsghdr *, unsigned int, int, struct timespec *);
	int count, at;

	if (!real)
		real = (int (*)(int, struct mmsghdr *, unsigned int, int, struct timespec *))dlsym(RTLD_NEXT,
												   "recvmmsg");
	count = real(socket, messages, most, flags, timeout);
	for (at = 0; at < count; at++)
		step_times(&messages[at].msg_hdr);
	return count;
}

#define SLOW(result, name, parameters, arguments)                                                                      \
	result name parameters                                                                                         \
	{                                                                                                              \
		static result(*real) parameters;                                                                       \
		if (!real)                                                                                             \
			real = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                          \
		if (slow_us)                                                                                           \
			usleep(slow_us);                                                                               \
		return real arguments;                                                                                 \
	}

SLOW(int, fsync, (int file), (file))
SLOW(int, fdatasync, (int file), (file))
SLOW(int, rename, (const char *from, const char *to), (from, to))
SLOW(int, renameat, (int old, const char *from, int fresh, const char *to), (old, from, fresh, to))
