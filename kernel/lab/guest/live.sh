# SPDX-License-Identifier: GPL-2.0
# A file system and a database on each drive that the host serves, recorded with blktrace. lab/runs has one run per
# line: its name, how the drive is attached, the drive's serial number or port, file system, scheduler.
# lab/transactions and lab/rows are what the database is told, and what it has to hold in the end.

# attached PATH WHICH: prints the name of the device; attaches it first if its client is the guest's own.
attached() {
	case $1 in
	virtio)
		for disk in /sys/block/vd*; do
			[ "$(cat "$disk/serial")" = "$2" ] && basename "$disk" && return
		done
		;;
	nvme)
		for disk in /sys/block/nvme*; do
			[ "$(tr -d ' ' <"$disk/device/serial")" = "$2" ] && basename "$disk" && return
		done
		;;
	nbd)
		attempt modprobe nbd nbds_max=1
		# Each of several connections would be a queue of its own.
		attempt /usr/sbin/nbd-client 10.0.2.2 "$2" /dev/nbd0 -b 512 -C 1
		echo nbd0
		return
		;;
	esac
	fail "no drive $2 is attached by $1"
}

make_ext4() {
	attempt /usr/sbin/mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$1"
}

make_xfs() {
	attempt /usr/sbin/mkfs.xfs -q -f -K "$1"
}

make_btrfs() {
	attempt /usr/sbin/mkfs.btrfs -q -f -K "$1"
}

check_ext4() {
	attempt /usr/sbin/e2fsck -f -n "$1"
}

check_xfs() {
	attempt /usr/sbin/xfs_repair -n "$1"
}

check_btrfs() {
	attempt /usr/bin/btrfs check --readonly "$1"
}

# phase NAME: what is recorded from here on belongs to it. All that came before is on the drive.
phase() {
	sync
	echo "$1" >"$messages" || fail "blktrace takes no message"
}

# database MODE: one table that the transactions fill and change.
database() {
	attempt /usr/bin/sqlite3 "/mnt/$1" \
		"PRAGMA journal_mode=$1; CREATE TABLE rows (number INTEGER PRIMARY KEY, content TEXT);"
	phase "$1"
	# It ends before the database is closed, which copies the log of a mode that has one.
	{
		echo "PRAGMA synchronous=FULL;"
		cat /lab/transactions
		echo ".shell sync && echo after-$1 >$messages"
	} >/tmp/transactions
	attempt /usr/bin/sqlite3 -bail "/mnt/$1" </tmp/transactions
}

# compared MODE: the database holds what it was told.
compared() {
	[ "$(/usr/bin/sqlite3 "/mnt/$1" 'PRAGMA integrity_check')" = ok ] || fail "the database $1 is damaged"
	/usr/bin/sqlite3 "/mnt/$1" 'SELECT number, content FROM rows ORDER BY number' >/tmp/rows
	cmp /tmp/rows /lab/rows || fail "the database $1 has other rows"
}

# run NAME PATH WHICH FILE_SYSTEM SCHEDULER
run() {
	began=$(date +%s)
	device=$(attached "$2" "$3") || exit 1
	disk=/dev/$device
	messages=/sys/kernel/debug/block/$device/msg
	select_scheduler "$device" "$5"
	begin_trace "$device" /tmp/recordings "$1" -b 16 -n 512
	# Events are written when they fill a buffer: once some are, it has begun.
	until [ -n "$(find /tmp/recordings -name "$1.*" -size +0)" ]; do
		for message in $(seq 400); do
			echo begin >"$messages" || fail "blktrace takes no message"
		done
		sleep 0.1
	done

	phase durable
	attempt /usr/bin/fio --name=durable --filename="$disk" --direct=1 --ioengine=psync --sync=dsync --rw=randwrite \
		--bs=4k --number_ios=32 --size=8m --allrandrepeat=1

	phase files
	"make_$4" "$disk"
	attempt mount -t "$4" -o "$mounted" "$disk" /mnt
	mkdir /mnt/files
	attempt /usr/bin/fio --name=stream --directory=/mnt/files --rw=write --bs=128k --size=16m --end_fsync=1
	attempt /usr/bin/fio --name=random --directory=/mnt/files --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite \
		--bs=4k --size=6m --nrfiles=2 --fsync=64 --allrandrepeat=1 --verify=crc32c --do_verify=1 --verify_fatal=1
	cp -r /lab /mnt/files/lab
	(cd /mnt/files && find . -type f -exec sha256sum {} +) >/tmp/sums

	database delete
	database wal

	attempt umount /mnt
	phase again
	attempt mount -t "$4" -o "$mounted" "$disk" /mnt
	(cd /mnt/files && attempt sha256sum -c /tmp/sums) || exit 1
	compared delete
	compared wal

	rm -r /mnt/files /mnt/delete
	phase trim
	attempt fstrim /mnt
	phase after-trim
	compared wal
	attempt umount /mnt
	"check_$4" "$disk"
	end_trace
	[ "$2" != nbd ] || attempt /usr/sbin/nbd-client -d "$disk"
	echo "ok: $1 ($(($(date +%s) - began)) s)"
}

mkdir /tmp/recordings
attempt modprobe -a xfs btrfs
while read -r name path which file_system scheduler; do
	case $file_system in
	# What is deleted is trimmed by fstrim alone, as the other two have it.
	btrfs) mounted=nodiscard ;;
	*) mounted=defaults ;;
	esac
	if [ "$path" = nbd ] && ! [ -e /sys/module/virtio_net ]; then
		attempt modprobe virtio_net
		attempt ip address add 10.0.2.15/24 dev eth0
		attempt ip link set eth0 up
	fi
	run "$name" "$path" "$which" "$file_system" "$scheduler"
done </lab/runs
cd /tmp/recordings && take_out *
