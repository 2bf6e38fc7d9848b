/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h - what the native part of the Java binding is made of
 *
 * Every method of the class warpway.Native is one function of the library, or a few that belong
 * together. It returns the status of the library, and throws nothing: the Java side reads the error
 * record of the thread (warpway.Status) and throws.
 *
 *   object      a jlong: the address of the library's object, 0 is NULL. The class Handle sees to
 *               it that no other thread releases the object during the call
 *   struct      a byte[]: the bytes of the struct as the library defines it. All fields have fixed
 *               widths, so Java writes and reads them one by one, padding too
 *   text        a byte[]: UTF-8, ended by a zero byte
 *   output      the element 0 of a long[], or the bytes of a byte[]
 *
 * A byte[] of another size than the struct has is refused with WW_ERR_VERSION.
 */
#ifndef WARPWAY_JAVA_NATIVE_H
#define WARPWAY_JAVA_NATIVE_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "warpway_Native.h"

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_warpway_Native_##name
/* What every native method begins with. */
#define THREAD JNIEnv *env __attribute__((unused)), jclass class __attribute__((unused))

#define TEXT_BYTES 4096 /* the most that Java passes as text, its ending zero included */

/* The kinds of objects, as warpway.Kind numbers them. */
enum kind {
	KIND_DEVICE,
	KIND_STREAM,
	KIND_MEMORY,
	KIND_POOL,
	KIND_BROKER,
	KIND_HOLD,
	KIND_WATCH,
	KIND_TIMELINE,
	KIND_EVENT,
	KIND_BARRIER,
	KIND_CHANNEL,
	KIND_SERVICE,
	KIND_CLIENT,
	KIND_TICKET,
	KIND_CANCEL,
	KIND_WORK_QUEUE,
	KIND_MEMORY_OF_STREAM, /* a memory that streams have used: released after that */
};

/* The object that a number from Java stands for. */
static inline void *object_of(jlong address)
{
	return (void *)(uintptr_t)address;
}

/* Copies a struct out of a byte[]. Return: false if the byte[] has another size. */
bool struct_load(JNIEnv *env, jbyteArray bytes, void *out_struct, size_t size);

/*
 * The same for params, which may be left out. Return: the params; NULL if there are none.
 * @ok is set to false if the byte[] has another size.
 */
void *params_load(JNIEnv *env, jbyteArray bytes, void *params, size_t size, bool *ok);

/*
 * A frame as it is to be published. @shape: NULL: that of the ring's array. Return: false if the
 * byte[] of the frame has another size, or the metadata is larger than the room for it.
 */
bool frame_load(JNIEnv *env, jbyteArray frame_bytes, jlong bytes, jlongArray shape,
	jbyteArray metadata, struct ww_frame *out_frame);

/* Copies a struct into a byte[] if the status is WW_OK. Return: the status. */
jint struct_store(JNIEnv *env, ww_status status, const void *from, size_t size, jbyteArray bytes);

/* Stores an object for Java if the status is WW_OK. Return: the status. */
jint object_store(JNIEnv *env, ww_status status, const void *object, jlongArray out);

/* Copies a text. Return: @out_text; NULL if there is no byte[]. */
const char *text_load(JNIEnv *env, jbyteArray bytes, char out_text[TEXT_BYTES]);

/* An own byte[] of some bytes. Return: NULL without memory, and then Java has its exception. */
jbyteArray bytes_create(JNIEnv *env, const void *from, size_t size);

/* The thread's environment, for a function that the library calls in a thread of Java. */
JNIEnv *java_env(void);

/* Defines a method that fills an info struct of an object. */
#define INFO(name, info_type, get)                                                                 \
	NATIVE(jint, name)(THREAD, jlong object, jbyteArray out)                                   \
	{                                                                                          \
		struct info_type info = WW_INIT(struct info_type);                                 \
		return struct_store(env, get(object_of(object), &info), &info, sizeof(info), out); \
	}

/* Defines a method that fills the info struct of the entry at an index. */
#define INDEXED_INFO(name, info_type, get)                                         \
	NATIVE(jint, name)(THREAD, jlong object, jint index, jbyteArray out)       \
	{                                                                          \
		struct info_type info = WW_INIT(struct info_type);                 \
		ww_status status = get(object_of(object), (uint32_t)index, &info); \
		return struct_store(env, status, &info, sizeof(info), out);        \
	}

#endif
