# SPDX-License-Identifier: GPL-2.0
# blktests on virtual devices, which get a scheduler when they appear, if they can have it. Arguments: the scheduler,
# the seconds that a test may take, and the groups or tests.
scheduler=$1
seconds=$2
shift 2

mkdir -p /run /dev/shm /dev/pts /etc/udev/rules.d /var/tmp /tmp/results
ln -s /proc/self/fd /dev/fd
mount -t cgroup2 cgroup2 /sys/fs/cgroup || fail "there are no control groups"
modprobe configfs 2>/dev/null
mount -t configfs none /sys/kernel/config || fail "there is no configfs"
modprobe "$scheduler" 2>/dev/null
# Tests choose "deadline", a name that the kernel knows only once the module is there.
modprobe mq-deadline 2>/dev/null
# Every disk, and what each of them has then.
cat >/etc/udev/rules.d/60-scheduler.rules <<RULES
SUBSYSTEM!="block", GOTO="end"
ENV{DEVTYPE}!="disk", GOTO="end"
ACTION!="add", GOTO="end"
TEST!="queue/scheduler", GOTO="end"
ATTR{queue/scheduler}="$scheduler"
RUN+="/bin/sh /lab/has.sh %k"
LABEL="end"
RULES
cat >/lab/has.sh <<'HAS'
echo $1 $(cat /sys/block/$1/queue/zoned) $(cat /sys/block/$1/queue/scheduler) >>/tmp/results/schedulers
HAS
/lib/systemd/systemd-udevd --daemon || fail "udev does not start"
udevadm trigger --action=add --subsystem-match=block
udevadm settle

# The suite cannot read a version with a plus, as Debian's have it: a test that wants a newer kernel leaves no result.
release=$(uname -r)
readable=$(echo "$release" | tr + -)
if [ "$readable" != "$release" ]; then
	mkdir /lab/bin
	printf '#!/bin/sh\n/bin/uname "$@" | tr + -\n' >/lab/bin/uname
	chmod +x /lab/bin/uname
	ln -s "/lib/modules/$release" "/lib/modules/$readable"
	ln -s "/boot/config-$release" "/boot/config-$readable"
	export PATH=/lab/bin:$PATH
fi

cd /blktests || fail "there is no suite"
# The tests that take a device as it comes have the scratch disk.
echo "TEST_DEVS=(/dev/vda)" >config
# Not to a terminal. What failed stands in the results.
TIMEOUT=$seconds bash ./check --output=/tmp/results/blktests "$@" | cat
[ -d /tmp/results/blktests ] || fail "the suite has not run"
[ -e /tmp/results/schedulers ] || fail "no device has appeared"
cd /tmp/results && take_out *
