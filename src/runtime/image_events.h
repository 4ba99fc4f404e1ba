// An image service that tells the event log what happens to images.
#ifndef PLIMSOLL_RUNTIME_IMAGE_EVENTS_H_
#define PLIMSOLL_RUNTIME_IMAGE_EVENTS_H_

#include <memory>

#include "image/image_service.h"
#include "runtime/event_log.h"

namespace plimsoll::runtime {

// Passes every call on to `images`; one that imported, pulled or removed something adds an event.
// `events` must outlive it. Thread-safe.
std::unique_ptr<image::ImageService> WithImageEvents(std::unique_ptr<image::ImageService> images,
                                                     EventLog* events);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_IMAGE_EVENTS_H_
