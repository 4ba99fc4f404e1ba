// An image service that adds an event for each image imported, pulled or removed.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_IMAGE_EVENTS_H_
#define PLIMSOLL_RUNTIME_OBJECTS_IMAGE_EVENTS_H_

#include <memory>

#include "image/image_service.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::runtime {

// Passes every call on to `images`, and adds the event after a call that succeeded. `events` must
// outlive it. Thread-safe.
std::unique_ptr<image::ImageService> WithImageEvents(std::unique_ptr<image::ImageService> images,
                                                     EventLog* events);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_IMAGE_EVENTS_H_
