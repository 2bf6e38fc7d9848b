// SPDX-License-Identifier: Apache-2.0
/**
 * Memory of GPUs and of the CPU that processes share; timelines, barriers, channels and calls
 * between processes.
 *
 * <p>The objects are those of the C library {@code libwarpway}, and the names are the same: what
 * {@code ww_timeline_wait()} says in {@code warpway/timeline.h} holds for {@link
 * warpway.Timeline#await}. Three rules hold for the whole package:
 *
 * <ul>
 *   <li>Objects are {@link java.lang.AutoCloseable}. After {@code close()} every method of the
 *       object throws {@link java.lang.IllegalStateException}, also in a thread that waits in it.
 *       An object may be closed twice, and while other threads use it.
 *   <li>Errors of the library are {@link warpway.WarpwayException}s, whose {@link
 *       warpway.WarpwayException#status status} says which.
 *   <li>A method that waits takes a {@link java.time.Duration}: zero does not wait, and {@link
 *       warpway.Warpway#FOREVER} has no limit; other negative ones are refused. It blocks only the
 *       calling thread, and {@link java.lang.Thread#interrupt} ends it with {@link
 *       java.lang.InterruptedException}, at most 50 ms later.
 * </ul>
 *
 * <p>Any thread may call any method. Calls on one channel, watch, barrier or client take turns: a
 * call that waits lets others in between about 20 times a second.
 */
package warpway;
