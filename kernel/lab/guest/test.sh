# SPDX-License-Identifier: GPL-2.0
# The tests of the module. Arguments: seconds that a load runs, and the tests to run.
seconds=$1
shift
disk=vda

# load DEVICE [OPTION...]: random reads and writes of several processes.
load() {
	device=$1
	shift
	/usr/bin/fio --name=load --filename="/dev/$device" --direct=1 --ioengine=libaio --iodepth=32 --numjobs=2 \
		--rw=randrw --bsrange=4k-64k --time_based --runtime="$seconds" --size=100% --group_reporting "$@" \
		>/tmp/load.said 2>&1
}

# verify DEVICE: checks that reads return the data written.
verify() {
	attempt /usr/bin/fio --name=verify --filename="/dev/$1" --direct=1 --ioengine=libaio --iodepth=32 \
		--rw=randwrite --bsrange=4k-32k --size="$((8 * seconds))m" --verify=crc32c --verify_fatal=1 --do_verify=1
}

# balanced DEVICE: checks, when no request is outstanding, that the counters add up.
balanced() {
	sync
	for try in 1 2 3 4 5 6 7 8 9 10; do
		inserted=$(counter "$1" inserted) merged=$(counter "$1" merged) completed=$(counter "$1" completed)
		dispatched=$(counter "$1" dispatched) requeued=$(counter "$1" requeued)
		[ "$inserted" -eq $((merged + completed)) ] && [ "$dispatched" -eq $((completed + requeued)) ] &&
			[ "$inserted" -gt 0 ] && return
		sleep 0.2
	done
	cat "/sys/kernel/debug/block/$1/sched/counters"
	fail "$1: the counters do not add up"
}

tunable() {
	echo "/sys/block/$disk/queue/iosched/$1"
}

# merges_of DEVICE: prints the reads and writes that the block layer has merged.
merges_of() {
	awk '{ print $2 + $6 }' "/sys/block/$1/stat"
}

test_selecting_it_loads_the_module() {
	[ -d /sys/module/pardispatcher ] && fail "the module is loaded already"
	select_scheduler $disk pardispatcher
	[ -d /sys/module/pardispatcher ] || fail "the module is not loaded"
	load $disk || fail "the load failed"
	balanced $disk
	[ "$(counter $disk turns)" -gt 0 ] || fail "there was no turn"
	[ "$(counter $disk read_dispatched)" -gt 0 ] || fail "there was no read"
	[ "$(counter $disk write_dispatched)" -gt 0 ] || fail "there was no write"
}

test_tunables_take_what_is_in_range_and_refuse_the_rest() {
	select_scheduler $disk pardispatcher
	for line in "region_kb 16384 1024 1099511627776 1023 1099511627777" "read_batch 16 1 65536 0 65537" \
		"write_batch 8 1 65536 0 65537" "read_expire 500 1 3600000 0 3600001" \
		"write_expire 5000 1 3600000 0 3600001" "prio_aging_expire 10000 1 3600000 0 3600001" \
		"front_merges 1 0 1 2 4294967296" \
		"async_depth $(cat /sys/block/$disk/queue/nr_requests) 1 65536 0 65537" \
		"scan continue lowest continue lower 0"; do
		set -- $line
		file=$(tunable "$1")
		[ "$(cat "$file")" = "$2" ] || fail "$1 is $(cat "$file") by default, not $2"
		for value in "$3" "$4"; do
			echo "$value" >"$file" || fail "$1 does not take $value"
			[ "$(cat "$file")" = "$value" ] || fail "$1 is $(cat "$file"), not the $value that was written"
		done
		for value in "$5" "$6" -1 "" banana 1x 18446744073709551616; do
			said=$(echo "$value" 2>&1 >"$file") && fail "$1 takes '$value'"
			[ "${said##*: }" = "Invalid argument" ] || fail "$1 refuses '$value' otherwise: $said"
			[ "$(cat "$file")" = "$4" ] || fail "$1 was changed by '$value'"
		done
		echo "$2" >"$file" || fail "$1 does not take its default"
	done
}

test_regions_are_a_sixteenth_of_the_disk() {
	# Mebibytes of the disk, and kibibytes of a region: the paper's drive, less than a region of the least size, and
	# what is rounded up.
	for sizes in "57220 4194304" "4 1024" "17408 2097152"; do
		null_blk_device sized memory_backed=0 size="${sizes% *}"
		select_scheduler sized pardispatcher
		size=$(cat /sys/block/sized/queue/iosched/region_kb)
		[ "$size" = "${sizes#* }" ] || fail "regions of ${sizes% *} MiB have $size KiB, not ${sizes#* }"
		remove_null_blk_device sized
	done
}

test_regions_without_requests_are_given_back() {
	# Two tebibytes: two million regions of 1 MiB.
	null_blk_device wide memory_backed=0 size=2097152
	select_scheduler wide pardispatcher
	echo 1024 >/sys/block/wide/queue/iosched/region_kb || fail "region_kb does not take 1024"
	attempt /usr/bin/fio --name=wide --filename=/dev/wide --direct=1 --ioengine=libaio --iodepth=32 --rw=randread \
		--bs=4k --number_ios=8000 --size=100% --norandommap
	balanced wide
	[ "$(counter wide idle_regions)" = 4096 ] || fail "$(counter wide idle_regions) idle regions are kept, not 4096"
	[ "$(counter wide unsorted)" = 0 ] || fail "requests went unsorted"
	echo 2048 >/sys/block/wide/queue/iosched/region_kb || fail "region_kb does not take 2048"
	[ "$(counter wide idle_regions)" = 0 ] || fail "regions of the old size are kept"
	remove_null_blk_device wide
}

# reads_of CLASS [OPTION...]: reads of the device slow in an I/O priority class; prints their mean latency in us.
reads_of() {
	class=$1
	shift
	/usr/bin/fio --name="class$class" --filename=/dev/slow --direct=1 --ioengine=libaio --rw=randread --bs=4k \
		--size=100% --prioclass="$class" --prio=0 --output-format=terse --terse-version=3 "$@" 2>/dev/null |
		awk -F';' '{ printf "%d", $40 }'
}

test_an_urgent_class_goes_first_and_the_others_in_the_end() {
	null_blk_device slow memory_backed=0 size=1024 submit_queues=1 hw_queue_depth=1 irqmode=2 completion_nsec=5000000
	select_scheduler slow pardispatcher
	echo 64 >/sys/block/slow/queue/nr_requests || fail "the queue cannot be made longer"
	reads_of 2 --iodepth=32 --time_based --runtime="$((2 * seconds))" >/tmp/best &
	sleep 1
	urgent=$(reads_of 1 --iodepth=1 --number_ios=100)
	# The requests of the other class, which it reads in the debugger's list.
	grep -q "op=READ" /sys/kernel/debug/block/slow/sched/be_read_fifo || fail "no request is listed"
	[ "$(counter slow aged)" = 0 ] || fail "a request aged in less than ten seconds"
	wait
	[ $((4 * urgent)) -lt "$(cat /tmp/best)" ] || fail "urgent reads take $urgent us, others $(cat /tmp/best) us"
	# Below a flood of a higher class a request waits until it has aged.
	echo 200 >/sys/block/slow/queue/iosched/prio_aging_expire || fail "prio_aging_expire does not take 200"
	reads_of 1 --iodepth=32 --time_based --runtime="$((3 * seconds))" >/tmp/urgent &
	sleep 1
	idle=$(reads_of 3 --iodepth=1 --number_ios=5)
	kill -0 $! 2>/dev/null || fail "the idle class has waited for the end of the flood"
	[ "$idle" -ge 200000 ] || fail "reads of the idle class take $idle us, and did not age"
	[ "$(counter slow aged)" -ge 5 ] || fail "no request aged"
	wait
	balanced slow
	remove_null_blk_device slow
}

test_tunables_change_under_load() {
	select_scheduler $disk pardispatcher
	load $disk &
	while kill -0 $! 2>/dev/null; do
		for region in 1024 3000 16384 1048576 4194304; do
			echo $region >"$(tunable region_kb)" || fail "region_kb does not take $region"
			for setting in "read_batch $((region % 7 + 1))" "write_batch $((region % 5 + 1))" \
				"read_expire $((region % 50 + 1))" "front_merges $((region % 2))" \
				"async_depth $((region % 9 + 1))" "scan $([ $region -gt 4000 ] && echo lowest || echo continue)"; do
				echo "${setting#* }" >"$(tunable "${setting% *}")" || fail "refused: $setting"
			done
		done
	done
	wait $! || fail "the load failed"
	balanced $disk
	select_scheduler $disk none
}

test_fio_verifies_a_virtio_disk() {
	select_scheduler $disk pardispatcher
	verify $disk
	balanced $disk
}

test_fio_verifies_null_blk_of_several_queues() {
	null_blk_device many memory_backed=1 size=256 submit_queues=2 hw_queue_depth=8 irqmode=2 completion_nsec=20000
	select_scheduler many pardispatcher
	echo 1024 >/sys/block/many/queue/iosched/region_kb || fail "region_kb does not take 1024"
	verify many
	balanced many
	remove_null_blk_device many
}

test_ext4_is_clean_afterwards() {
	select_scheduler $disk pardispatcher
	attempt /usr/sbin/mkfs.ext4 -q -F /dev/$disk
	attempt mount -t ext4 /dev/$disk /mnt
	attempt /usr/bin/fio --name=files --directory=/mnt --rw=randrw --bs=4k --size=4m --numjobs=4 --nrfiles=8 \
		--fsync=16 --time_based --runtime="$seconds" --verify=0
	cp -r /lab /mnt/copy
	attempt umount /mnt
	attempt /usr/sbin/e2fsck -f -n /dev/$disk
	balanced $disk
}

test_what_touches_merges_at_the_back_and_at_the_front() {
	null_blk_device slow memory_backed=1 size=64 submit_queues=1 hw_queue_depth=4 irqmode=2 completion_nsec=2000000
	select_scheduler slow pardispatcher
	echo 64 >/sys/block/slow/queue/nr_requests || fail "the queue cannot be made longer"
	for direction in "write" "write:-8k"; do
		before=$(merges_of slow)
		# Several processes, so that it is the scheduler that merges and not one process's plug.
		attempt /usr/bin/fio --name=sequence --filename=/dev/slow --direct=1 --ioengine=libaio --iodepth=16 \
			--iodepth_batch=1 --rw="$direction" --bs=4k --offset=8m --size=1m --offset_increment=1m --numjobs=2
		[ "$(merges_of slow)" -gt "$before" ] || fail "nothing merges with $direction"
	done
	verify slow
	balanced slow
	# Only with the request that was looked at last; then not at all.
	for merges in 1 2; do
		echo $merges >/sys/block/slow/queue/nomerges || fail "nomerges does not take $merges"
		before=$(merges_of slow)
		verify slow
		balanced slow
	done
	[ "$(merges_of slow)" -eq "$before" ] || fail "something merges where nothing may"
	remove_null_blk_device slow
}

test_flush_fua_and_discard() {
	null_blk_device cached memory_backed=1 size=64 discard=1 cache_size=8
	for device in $disk cached; do
		select_scheduler $device pardispatcher
		attempt /usr/bin/fio --name=flush --filename=/dev/$device --direct=1 --rw=randwrite --bs=4k --size=16m \
			--io_size=2m --fsync=4
		attempt /usr/bin/fio --name=sync --filename=/dev/$device --direct=1 --sync=dsync --rw=randwrite --bs=4k \
			--size=16m --io_size=1m --numjobs=2
		attempt /usr/bin/fio --name=trim --filename=/dev/$device --direct=1 --ioengine=libaio --iodepth=16 \
			--rw=randtrimwrite --bs=64k --size=16m
		verify $device
		balanced $device
	done
	remove_null_blk_device cached
}

test_discards_of_several_ranges_merge_as_the_block_layer_can_tell() {
	[ -e /sys/block/nvme0n1 ] || skip "this kernel has no driver of NVMe drives"
	select_scheduler nvme0n1 pardispatcher
	# So short that who comes looks for something to merge with, waits for room, and is not seen by its neighbour.
	echo 16 >/sys/block/nvme0n1/queue/nr_requests || fail "the queue cannot be made shorter"
	# Or writeback throttling would let discards in one by one.
	if [ -e /sys/block/nvme0n1/queue/wbt_lat_usec ]; then
		echo 0 >/sys/block/nvme0n1/queue/wbt_lat_usec || fail "writeback throttling cannot be turned off"
	fi
	# A process discards one part at a time, so there are as many parts as there shall be discards at once.
	set -- --direct=1 --bs=64k --time_based --runtime="$((2 * seconds))" --thread
	for part in $(seq 16); do
		attempt /usr/bin/addpart /dev/nvme0n1 $part $((part * 128)) 128
		set -- "$@" --name="trim$part" --filename="/dev/nvme0n1p$part" --rw=trim --size=64k
	done
	for merges in 0 1; do
		echo $merges >/sys/block/nvme0n1/queue/nomerges || fail "nomerges does not take $merges"
		attempt /usr/bin/fio "$@" --name=write --filename=/dev/nvme0n1 --ioengine=libaio --iodepth=48 --rw=randwrite \
			--bs=4k --offset=64m --size=32m --verify=crc32c --verify_fatal=1
		balanced nvme0n1
	done
	select_scheduler nvme0n1 none
}

test_a_hundred_switches_under_load() {
	(
		while [ ! -e /tmp/switched ]; do
			load $disk --runtime=3 || fail "the load failed: $(cat /tmp/load.said)"
		done
	) &
	for switch in $(seq 25); do
		for scheduler in pardispatcher mq-deadline pardispatcher none; do
			select_scheduler $disk $scheduler
		done
	done
	touch /tmp/switched
	wait $! || exit 1
	select_scheduler $disk pardispatcher
	verify $disk
}

test_errors_of_the_device_reach_the_caller_and_nothing_else() {
	null_blk_device bad memory_backed=1 size=64 submit_queues=1
	echo "+4096-8191" >/sys/kernel/config/nullb/bad/badblocks || fail "null_blk takes no bad blocks"
	dd if=/dev/bad of=/dev/null bs=4k skip=512 count=1 iflag=direct 2>/dev/null &&
		skip "this kernel's null_blk ignores bad blocks, under no scheduler too"
	select_scheduler bad pardispatcher
	/usr/bin/fio --name=bad --filename=/dev/bad --direct=1 --ioengine=libaio --iodepth=16 --rw=randread --bs=4k \
		--size=8m --continue_on_error=io --output-format=terse --terse-version=5 >/tmp/bad.said 2>&1
	dd if=/dev/bad of=/dev/null bs=4k skip=512 count=1 iflag=direct 2>/dev/null && fail "a bad block can be read"
	attempt dd if=/dev/bad of=/dev/null bs=4k skip=1024 count=64 iflag=direct
	balanced bad
	remove_null_blk_device bad
}

# scsi_debug_fails OPTS: makes it fail by the bits of its parameter opts.
scsi_debug_fails() {
	echo "$1" >/sys/bus/pseudo/drivers/scsi_debug/opts || fail "scsi_debug does not take the opts $1"
}

test_commands_that_fail_or_are_repeated_are_counted_once() {
	# Every fiftieth command finds the host busy; later, every fiftieth fails on its way and is sent again.
	scsi_debug_disk dev_size_mb=64 max_queue=4 every_nth=50 opts=0x8000
	device=$disk_of_scsi_debug
	select_scheduler "$device" pardispatcher
	attempt /usr/bin/fio --name=busy --filename="/dev/$device" --direct=1 --ioengine=libaio --iodepth=32 \
		--rw=randwrite --bs=4k --size=16m --verify=crc32c --verify_fatal=1 --do_verify=1
	before=$(($(cat "/sys/block/$device/device/ioerr_cnt")))
	scsi_debug_fails 16
	attempt /usr/bin/fio --name=retry --filename="/dev/$device" --direct=1 --ioengine=libaio --iodepth=32 \
		--rw=randrw --bs=4k --size=16m --io_size=8m
	[ $(($(cat "/sys/block/$device/device/ioerr_cnt"))) -gt "$before" ] || fail "no command failed"
	balanced "$device"
	# The medium is bad at sector 0x1234.
	scsi_debug_fails 2
	dd if="/dev/$device" of=/dev/null bs=4k skip=$((0x1234 / 8)) count=1 iflag=direct 2>/dev/null &&
		fail "a bad sector can be read"
	attempt dd if="/dev/$device" of=/dev/null bs=4k skip=1024 count=64 iflag=direct
	balanced "$device"
	scsi_debug_fails 0
	select_scheduler "$device" none
	attempt rmmod scsi_debug sd_mod
}

test_what_the_driver_sends_back_is_queued_again() {
	rmmod null_blk 2>/dev/null
	# Of every hundred requests three come back. Only a kernel with fault injection can do this.
	attempt modprobe null_blk nr_devices=1 gb=1 memory_backed=1 requeue=1,3,0,-1
	[ -e /sys/module/null_blk/parameters/requeue ] || skip "this kernel's null_blk injects no faults"
	select_scheduler nullb0 pardispatcher
	verify nullb0
	balanced nullb0
	[ "$(counter nullb0 requeued)" -gt 0 ] || fail "no request came back"
	select_scheduler nullb0 none
	attempt rmmod null_blk
}

test_throttled_requests_are_not_lost() {
	null_blk_device throttled memory_backed=1 size=64 mbps=40 submit_queues=2
	select_scheduler throttled pardispatcher
	verify throttled
	balanced throttled
	remove_null_blk_device throttled
}

test_zoned_devices_are_refused() {
	null_blk_device zones memory_backed=1 size=256 zoned=1 zone_size=64
	echo pardispatcher 2>/dev/null >/sys/block/zones/queue/scheduler && fail "a zoned device takes it"
	# Or it would be refused because there is no such scheduler.
	[ -d /sys/module/pardispatcher ] || fail "the module is not loaded"
	grep -q "\[pardispatcher\]" /sys/block/zones/queue/scheduler && fail "a zoned device has got it"
	[ "$(cat /sys/module/pardispatcher/refcnt)" -eq 0 ] || fail "the module is in use, by nobody"
	remove_null_blk_device zones
}

test_a_device_may_grow_and_shrink() {
	truncate -s 4M /tmp/resized
	attempt modprobe loop
	attempt losetup /dev/loop0 /tmp/resized
	select_scheduler loop0 pardispatcher
	echo 1024 >/sys/block/loop0/queue/iosched/region_kb || fail "region_kb does not take 1024"
	# As it is, then with new regions, then with the first region alone.
	for mib in 4 24 1; do
		truncate -s ${mib}M /tmp/resized
		attempt losetup -c /dev/loop0
		[ "$(cat /sys/block/loop0/size)" = $((mib * 2048)) ] || fail "the device has not got the size $mib MiB"
		attempt /usr/bin/fio --name=resized --filename=/dev/loop0 --direct=1 --ioengine=libaio --iodepth=16 \
			--rw=randwrite --bs=4k --size=100% --verify=crc32c --verify_fatal=1 --do_verify=1
		balanced loop0
	done
	select_scheduler loop0 none
	attempt losetup -d /dev/loop0
	rm /tmp/resized
}

test_it_unloads_when_nobody_uses_it() {
	select_scheduler $disk pardispatcher
	rmmod pardispatcher 2>/dev/null && fail "it unloads while it is used"
	load $disk || fail "the load failed"
	select_scheduler $disk none
	attempt rmmod pardispatcher
	[ -d /sys/module/pardispatcher ] && fail "it is still loaded"
	if [ -e /sys/kernel/debug/kmemleak ]; then
		# A leak is reported when it is a few seconds old.
		for pause in 6 0; do
			echo scan >/sys/kernel/debug/kmemleak || fail "kmemleak has turned itself off"
			sleep $pause
		done
		grep -A 20 "unreferenced object" /sys/kernel/debug/kmemleak && fail "memory has leaked"
	fi
	attempt modprobe pardispatcher
	attempt rmmod pardispatcher
}

# skip WHY: ends a test that this kernel cannot run.
skip() {
	echo "$*" >/tmp/skipped
	exit 0
}

for name in "$@"; do
	started=$(cut -d. -f1 /proc/uptime)
	( "test_$name" ) || exit 1
	# Where the next test expects it, whether or not this one has changed it.
	[ "$name" = it_unloads_when_nobody_uses_it ] || select_scheduler $disk none
	if [ -e /tmp/skipped ]; then
		echo "skipped: $name ($(cat /tmp/skipped))"
		rm /tmp/skipped
	else
		echo "ok: $name ($(($(cut -d. -f1 /proc/uptime) - started)) s)"
	fi
done
if [ -e /proc/lockdep_stats ]; then
	grep -q "debug_locks: *1$" /proc/lockdep_stats || fail "lockdep has turned itself off"
fi
