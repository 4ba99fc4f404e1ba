// mount(2), for files that use <linux/mount.h>: in glibc 2.36 <sys/mount.h> doesn't go with it.
#ifndef PLIMSOLL_MONITOR_MOUNT_CALL_H_
#define PLIMSOLL_MONITOR_MOUNT_CALL_H_

extern "C" int mount(const char* source, const char* target, const char* type, unsigned long flags,
                     const void* data) noexcept;

#endif  // PLIMSOLL_MONITOR_MOUNT_CALL_H_
