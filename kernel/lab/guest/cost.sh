# SPDX-License-Identifier: GPL-2.0
# One scheduler under several loads, in a guest that counts instructions instead of time. Argument: the scheduler.
# lab/loads has one load per line: name, attributes of null_blk, options of fio, separated by bars.
scheduler=$1

# busy_ns: nanoseconds since boot in which the processor was not idle.
busy_ns() {
	awk '/^now at/ { now = $3 } /idle_sleeptime/ { idle = $3 } END { printf "%.0f", now - idle }' /proc/timer_list
}

# served NAME REQUESTS OPTION...: runs a load and prints the nanoseconds of processor time that it took.
served() {
	before=$(busy_ns)
	attempt /usr/bin/fio --name=load --filename=/dev/exact --direct=1 --ioengine=libaio --thread --allrandrepeat=1 \
		--norandommap --clocksource=clock_gettime --bs=4k --number_ios="$2" --output-format=json \
		--output="/tmp/results/$1-$2" $3
	echo "busy_ns $1 $2 $(($(busy_ns) - before))"
}

mkdir /tmp/results
while IFS='|' read -r name few many device options; do
	null_blk_device exact memory_backed=0 size=262144 submit_queues=1 $device
	select_scheduler exact "$scheduler"
	if [ "$scheduler" != none ]; then
		echo 128 >/sys/block/exact/queue/nr_requests || fail "the queue cannot be made longer"
	fi
	# Or writes would keep to the depth that the queue had before.
	case $scheduler in
	mq-deadline | pardispatcher)
		echo 128 >/sys/block/exact/queue/iosched/async_depth || fail "$scheduler does not take async_depth"
		;;
	esac
	# Once for nothing: what is used for the first time costs more, in fio as in the kernel.
	served "$name" "$few" "$options" >/dev/null
	served "$name" "$few" "$options"
	served "$name" "$many" "$options"
	remove_null_blk_device exact
done </lab/loads
cd /tmp/results && take_out *
