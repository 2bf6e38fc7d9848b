/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/warpway.hpp - everything, in C++17
 *
 * base.hpp has the rules of all of it.
 */
#ifndef WARPWAY_WARPWAY_HPP
#define WARPWAY_WARPWAY_HPP

#include <warpway/array.hpp>
#include <warpway/barrier.hpp>
#include <warpway/base.hpp>
#include <warpway/broker.hpp>
#include <warpway/cancel.hpp>
#include <warpway/channel.hpp>
#include <warpway/client.hpp>
#include <warpway/device.hpp>
#include <warpway/directory.hpp>
#include <warpway/event.hpp>
#include <warpway/graph.hpp>
#include <warpway/handle.hpp>
#include <warpway/in_flight.hpp>
#include <warpway/memory.hpp>
#include <warpway/module.hpp>
#include <warpway/monitor.hpp>
#include <warpway/object.hpp>
#include <warpway/pool.hpp>
#include <warpway/result.hpp>
#include <warpway/service.hpp>
#include <warpway/signature.hpp>
#include <warpway/span.hpp>
#include <warpway/tensor.hpp>
#include <warpway/timeline.hpp>
#include <warpway/token.hpp>
#include <warpway/work_queue.hpp>

#endif
