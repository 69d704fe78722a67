# SPDX-License-Identifier: GPL-2.0
# Records a load with blktrace. Arguments: the scheduler, the name of the recording, the load's file in the guest, and
# null_blk or scsi_debug with attributes of that; without these the load runs on the virtio disk.
scheduler=$1
name=$2
file=$3
shift 3
device=vda
driver=${1:-}
[ $# -eq 0 ] || shift
case $driver in
null_blk)
	null_blk_device recorded "$@"
	device=recorded
	;;
scsi_debug)
	scsi_debug_disk "$@"
	device=$disk_of_scsi_debug
	;;
esac
select_scheduler $device "$scheduler"
# Long enough that the scheduler has requests to sort, whatever the depth of the device.
if [ "$scheduler" != none ]; then
	echo 128 >/sys/block/$device/queue/nr_requests || fail "the queue cannot be made longer"
fi
# Otherwise writes would be limited to the depth of the queue before it was lengthened.
case $scheduler in
mq-deadline | pardispatcher)
	echo 128 >/sys/block/$device/queue/iosched/async_depth || fail "$scheduler does not take async_depth"
	;;
esac
export DEVICE=/dev/$device

mkdir /tmp/recording
begin_trace "$device" /tmp/recording "$name"
case $file in
*.fio) attempt /usr/bin/fio "$file" ;;
*) attempt sh "$file" ;;
esac
sync
end_trace
cd /tmp/recording && take_out *
