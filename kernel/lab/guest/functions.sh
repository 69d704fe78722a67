# SPDX-License-Identifier: GPL-2.0
# Functions shared by the guest scripts. Debian's programs are called by path, because ash prefers its own applets.

# Failures go to standard error, so that a redirection of output does not hide them.
fail() {
	echo "not ok: $*" >&2
	exit 1
}

# attempt COMMAND...: runs it, and shows its output only if it fails.
attempt() {
	"$@" >/tmp/said 2>&1 || {
		status=$?
		cat /tmp/said >&2
		fail "status $status of: $*"
	}
}

select_scheduler() {
	echo "$2" >"/sys/block/$1/queue/scheduler" || fail "$1 does not take the scheduler $2"
	grep -q "\[$2\]" "/sys/block/$1/queue/scheduler" || fail "$1 has not got the scheduler $2"
}

# counter DEVICE NAME
counter() {
	sed -n "s/^$2 //p" "/sys/kernel/debug/block/$1/sched/counters"
}

# null_blk_device NAME ATTRIBUTE=VALUE...: creates a device of that name.
null_blk_device() {
	null_blk=$1
	shift
	[ -d /sys/module/null_blk ] || attempt modprobe null_blk nr_devices=0
	[ -d /sys/kernel/config/nullb ] || attempt mount -t configfs none /sys/kernel/config
	mkdir "/sys/kernel/config/nullb/$null_blk" || fail "null_blk makes no device $null_blk"
	for setting in "$@" power=1; do
		echo "${setting#*=}" >"/sys/kernel/config/nullb/$null_blk/${setting%%=*}" ||
			fail "null_blk does not take $setting"
	done
}

remove_null_blk_device() {
	rmdir "/sys/kernel/config/nullb/$1"
}

# scsi_debug_disk PARAMETER=VALUE...: loads scsi_debug, and sets disk_of_scsi_debug to the name of its disk.
scsi_debug_disk() {
	attempt modprobe sd_mod
	attempt modprobe scsi_debug "$@"
	sleep 1
	disk_of_scsi_debug=$(ls /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block) ||
		fail "there is no scsi_debug disk"
}

# begin_trace DEVICE DIRECTORY NAME [OPTION...]: records the device with blktrace until end_trace.
begin_trace() {
	# Buffers in the guest's memory that no burst fills, so that no event is lost.
	trace_of=$1 trace_to=$2 trace_name=$3
	shift 3
	/usr/sbin/blktrace -d "/dev/$trace_of" -D "$trace_to" -o "$trace_name" -b 1024 -n 16 "$@" >/tmp/blktrace.said 2>&1 &
	blktrace=$!
	while ! [ -e "/sys/kernel/debug/block/$trace_of/trace0" ]; do
		kill -0 $blktrace 2>/dev/null || { cat /tmp/blktrace.said; fail "blktrace does not start"; }
		sleep 0.1
	done
}

end_trace() {
	kill -TERM $blktrace
	wait $blktrace || { cat /tmp/blktrace.said; fail "blktrace ended with status $?"; }
	grep "(dropped [1-9]\|You have .*dropped events" /tmp/blktrace.said && fail "blktrace has lost events"
	return 0
}

# take_out FILE...: writes files to the disk that the lab reads.
take_out() {
	tar -cf /dev/vdb "$@" || fail "the output disk is too small"
	sync
}
