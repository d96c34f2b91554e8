#!/bin/busybox sh
# Process 1 of the peer: executes commands that come over the second console, one a line, and answers each. A process
# takes 20 ms to start here: what the shell can do itself, it does.
#   request: ID SECONDS SCRIPT, where SCRIPT has its backslashes and control characters escaped, as printf %b reads them
#   answer:  ID EXIT or `late`, then standard output, the mark, standard error, the mark
/bin/busybox mkdir -p /busybox
/bin/busybox --install -s /busybox
export PATH=/bin:/busybox HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run

printf '\001\002\003\n' >/run/mark
mkfifo /run/ended
exec 3<>/dev/tty1 4<>/run/ended
stty raw -echo <&3
echo ready >&3

while read -r id seconds escaped <&3; do
    script=$(printf '%b.' "$escaped")
    setsid dash -c '(eval "$2") 3>&- 4>&-; echo "$1 $?" >&4' sh "$id" "${script%.}" </dev/null >/run/out 2>/run/err 3>&- &
    command=$!
    while :; do
        if ! read -r -t "$seconds" ended code <&4; then
            code=late
            break
        fi
        [ "$ended" != "$id" ] || break # another is a late one's, that ended after all
    done
    kill -9 -$command # what it left running, and it itself
    wait $command
    echo "$id $code" >&3
    cat /run/out /run/mark /run/err /run/mark >&3
done 2>/dev/null
poweroff -f
