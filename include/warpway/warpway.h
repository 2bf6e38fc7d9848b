/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/warpway.h - everything
 */
#ifndef WARPWAY_WARPWAY_H
#define WARPWAY_WARPWAY_H

#include <warpway/array.h>
#include <warpway/barrier.h>
#include <warpway/base.h>
#include <warpway/broker.h>
#include <warpway/cancel.h>
#include <warpway/channel.h>
#include <warpway/client.h>
#include <warpway/device.h>
#include <warpway/dlpack.h>
#include <warpway/event.h>
#include <warpway/frame.h>
#include <warpway/graph.h>
#include <warpway/in_flight.h>
#include <warpway/memory.h>
#include <warpway/module.h>
#include <warpway/monitor.h>
#include <warpway/pool.h>
#include <warpway/service.h>
#include <warpway/signature.h>
#include <warpway/timeline.h>
#include <warpway/token.h>
#include <warpway/work_queue.h>

#endif
