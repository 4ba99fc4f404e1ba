// The answers of plugins, put together: each field and key has one owner.
#ifndef PLIMSOLL_NRI_ADJUST_ADJUST_H_
#define PLIMSOLL_NRI_ADJUST_ADJUST_H_

#include "nri/adjust/creation.h"
#include "nri/adjust/updates.h"
#include "nri/adjust/validator.h"

#endif  // PLIMSOLL_NRI_ADJUST_ADJUST_H_
