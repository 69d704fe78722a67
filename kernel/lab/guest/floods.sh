# SPDX-License-Identifier: GPL-2.0
# Floods of writes under several schedulers, recorded by blktrace in a guest that counts instructions instead of time.
# Arguments: attributes of null_blk. lab/runs has one run per line, separated by bars: name, fio job, scheduler, its
# attributes as NAME=VALUE.
device=$*

mkdir /tmp/results
while IFS='|' read -r name job scheduler attributes; do
	null_blk_device flood $device
	select_scheduler flood "$scheduler"
	echo 256 >/sys/block/flood/queue/nr_requests || fail "the queue cannot be made longer"
	for setting in $attributes; do
		echo "${setting#*=}" >"/sys/block/flood/queue/iosched/${setting%%=*}" || fail "$scheduler does not take $setting"
	done
	cat /sys/block/flood/queue/iosched/async_depth >"/tmp/results/$name.depth"
	begin_trace flood /tmp/results "$name"
	attempt /usr/bin/fio "/lab/$job" --thread --clocksource=clock_gettime --output-format=json \
		--output="/tmp/results/$name.fio"
	end_trace
	remove_null_blk_device flood
done </lab/runs
cd /tmp/results && take_out *
