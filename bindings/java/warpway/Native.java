// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;

/**
 * The functions of the library. What the arguments are says native.h; each returns a status unless
 * it cannot fail.
 */
final class Native {
	static {
		Loader.load();
	}

	private Native() {
	}

	static native byte[] version();
	static native byte[] libraryVersion();
	static native int errorLast(byte[] out);
	static native byte[] statusText(int status);
	static native long cancelNowait();
	static native int cancelCreate(long[] out);
	static native void cancelSet(long cancel);
	static native boolean cancelIsSet(long cancel);
	static native void release(int kind, long object);

	static native int deviceCount(int backend, long[] out);
	static native int deviceOpen(byte[] name, long[] out);
	static native int deviceInfo(long device, byte[] out);
	static native int deviceFreeBytes(long device, long[] out);
	static native int streamCreate(long device, long[] out);
	static native int streamSynchronize(long stream, long timeoutNs, long cancel);
	static native int streamQuery(long stream);
	static native int streamRecover(long stream);
	static native int streamCopy(long stream, long to, long toOffset, long from, long fromOffset,
			long bytes);
	static native int streamFill(long stream, long to, long offset, int value, int valueBytes,
			long count);

	static native int memoryCreate(long device, int kind, long bytes, long[] out);
	static native int memoryInfo(long memory, byte[] out);
	static native ByteBuffer memoryView(long memory, long offset, long bytes);
	static native int memoryWrite(long memory, long offset, ByteBuffer from, int position,
			int bytes, long timeoutNs, long cancel);
	static native int memoryRead(long memory, long offset, ByteBuffer to, int position, int bytes,
			long timeoutNs, long cancel);
	static native int memoryHandleOpen(long device, byte[] handle, byte[] params, long[] out);
	static native int poolCreate(long device, byte[] params, long[] out);
	static native int poolAlloc(long pool, long bytes, long alignment, long timeoutNs, long cancel,
			long[] out);
	static native int poolRelease(long slice, long stream);
	static native int poolExport(long pool, long broker, byte[] params, byte[] out);
	static native int poolImport(long device, long broker, byte[] token, long[] out);
	static native int poolTrim(long pool, long keepBytes, long[] out);
	static native int poolInfo(long pool, byte[] out);
	static native int poolHolder(long pool, int index, byte[] out);

	static native int dtypeParse(byte[] name, byte[] out);
	static native int dtypeName(byte[] dtype, byte[] out);
	static native int arraySet(byte[] dtype, long[] shape, long[] strides, long offset, byte[] out);
	static native int arrayCheck(byte[] array, long memoryBytes);
	static native boolean arrayIsContiguous(byte[] array, boolean fortran);
	static native int arrayBytes(byte[] array, long[] out);
	static native int arrayOverlap(byte[] array, byte[] other, long[] out);
	static native int arraySlice(byte[] array, int dim, long start, long stop, long step,
			byte[] out);
	static native int arrayIndex(byte[] array, int dim, long index, byte[] out);
	static native int arrayPermute(byte[] array, int[] order, byte[] out);
	static native int arrayShape(byte[] array, boolean broadcast, long[] shape, byte[] out);
	static native int arrayReinterpret(byte[] array, byte[] dtype, byte[] out);
	static native int signatureInfo(byte[] signature, byte[] out);
	static native int signatureItem(byte[] signature, boolean result, int index, byte[] out);
	static native int scalarParse(byte[] dtype, byte[] text, long[] out);
	static native int scalarText(byte[] dtype, long bits, byte[] out);

	static native int brokerOpen(byte[] address, boolean noStart, long timeoutNs, long[] out);
	static native byte[] brokerAddress(long broker);
	static native int brokerInfo(long broker, byte[] out);
	static native int brokerRemove(long broker, byte[] name);

	static native int brokerEnd(long broker, byte[] name, byte[] objectId);
	static native int brokerStat(long broker, byte[] name, byte[] out);
	static native int snapshotCreate(long broker, byte[] prefix, long contents, long[] out);
	static native void snapshotFree(long snapshot);
	static native int snapshotObject(long snapshot, int index, byte[] out);
	static native int snapshotHolder(long snapshot, int index, byte[] out);
	static native int snapshotHold(long snapshot, int index, byte[] out);
	static native int watchCreate(long broker, byte[] prefix, boolean existing, long[] out);
	static native int watchNext(long watch, long timeoutNs, long cancel, byte[] out);
	static native int memoryPut(long memory, long broker, byte[] name, byte[] params, byte[] array,
			long timeoutNs, long cancel);
	static native int memoryPublish(long memory, long broker, int state);
	static native int memoryGet(long device, long broker, byte[] name, byte[] params,
			long timeoutNs, long cancel, long[] out, byte[] outInfo);
	static native int memoryExport(long memory, long broker, byte[] params, byte[] array,
			byte[] out);
	static native int memoryRevoke(long memory, long broker);
	static native int memoryImport(long device, long broker, byte[] token, byte[] params,
			long[] out, byte[] outInfo);
	static native int holdImport(long broker, byte[] token, long[] out, byte[] outInfo);
	static native int holdGet(long broker, byte[] name, byte[] params, long timeoutNs, long cancel,
			long[] out, byte[] outInfo);
	static native int holdMap(long object, long device, byte[] params, long[] out);
	static native int holdExport(long object, byte[] params, byte[] out);
	static native int tokenInfo(byte[] token, byte[] out);
	static native int tokenToText(byte[] token, byte[] out);
	static native int tokenFromText(byte[] text, byte[] out);
	static native int inFlightCreate(long broker, long[] out);
	static native void inFlightFree(long list);
	static native int inFlightGet(long list, int index, byte[] out);
	static native int inFlightRevoke(long broker, byte[] token, long olderNs, long[] out);
	static native int inFlightLimit(int count, long bytes);

	static native int timelineCreate(long flags, long value, long[] out);
	static native int timelinePrepare(long timeline, long device);
	static native int timelineSignal(long timeline, long value);
	static native int timelineStreamSignal(long timeline, long stream, long value);
	static native int timelineFail(long timeline, byte[] why);
	static native int timelineWait(long timeline, long value, long timeoutNs, long cancel);
	static native int timelineStreamWait(long timeline, long stream, long value, long flags,
			long timeoutNs, long cancel);
	static native int timelineQuery(long timeline, long value);
	static native int timelineInfo(long timeline, byte[] out);
	static native int timelineExport(long timeline, long broker, byte[] params, byte[] out);
	static native int timelineImport(long broker, byte[] token, long[] out);
	static native int timelinePut(long timeline, long broker, byte[] name, byte[] params);
	static native int timelineGet(long broker, byte[] name, long timeoutNs, long cancel,
			long[] out);
	static native int eventCreate(long device, long flags, long[] out);
	static native int eventRecord(long event, long stream);
	static native int eventStreamWait(long event, long stream);
	static native int eventSynchronize(long event, long timeoutNs, long cancel);
	static native int eventQuery(long event);
	static native int eventHandleGet(long event, byte[] out);
	static native int eventHandleOpen(long device, byte[] handle, long[] out);
	static native int eventExport(long event, long broker, byte[] params, byte[] out);
	static native int eventImport(long device, long broker, byte[] token, long[] out);
	static native int barrierCreate(long broker, byte[] name, byte[] params, byte[] out);
	static native int barrierGet(long broker, byte[] name, int rank, long timeoutNs, long cancel,
			long[] out);
	static native int barrierImport(long broker, byte[] token, int rank, long timeoutNs,
			long cancel, long[] out);
	static native int barrierWait(long barrier, long timeoutNs, long cancel);
	static native int barrierInfo(long barrier, byte[] out);

	static native int channelCreate(long device, long broker, byte[] name, byte[] params,
			byte[] array, long[] out);
	static native int channelGet(long device, long broker, byte[] name, byte[] params,
			byte[] metadataType, byte[] array, long timeoutNs, long cancel, long[] out);
	static native int channelImport(long device, long broker, byte[] token, byte[] params,
			byte[] metadataType, byte[] array, long[] out);
	static native int channelExport(long channel, byte[] params, byte[] out);
	static native int channelAcquire(long channel, long stream, long timeoutNs, long cancel,
			byte[] out);
	static native int channelPublish(long channel, byte[] frame, long stream, long bytes,
			long[] shape, byte[] metadata);
	static native int channelDiscard(long channel, byte[] frame, long stream);
	static native int channelReceive(long channel, long stream, long timeoutNs, long cancel,
			byte[] out);
	static native int channelRelease(long channel, byte[] frame, long stream);
	static native byte[] frameMetadata(long address, int bytes);
	static native int frameMemory(long pointer, long[] out);
	static native int channelWaitAny(long[] channels, long timeoutNs, long cancel, long[] out);
	static native int channelInfo(long channel, byte[] out);
	static native int channelConsumer(long channel, int index, byte[] out);
	static native int channelWaitConsumers(long channel, int count, long timeoutNs, long cancel);
	static native int channelEvict(long channel, int consumer);
	static native int channelNextEvent(long channel, long timeoutNs, long cancel, byte[] out);

	static native int queueCreate(long device, long broker, byte[] name, byte[] params,
			byte[] array, long[] out);
	static native int queueGet(long device, long broker, byte[] name, int role, int endAfter,
			long timeoutNs, long cancel, long[] out);
	static native int queueImport(long device, long broker, byte[] token, int role, int endAfter,
			long[] out);
	static native int queueExport(long queue, int access, byte[] params, byte[] out);
	static native int queueClose(long queue);
	static native int queueAcquire(long queue, long stream, long timeoutNs, long cancel,
			byte[] out);
	static native int queuePublish(long queue, byte[] frame, long stream, long bytes, long[] shape,
			byte[] metadata);
	static native int queueDiscard(long queue, byte[] frame, long stream);
	static native int queueReceive(long queue, long stream, long timeoutNs, long cancel,
			byte[] out);
	static native int queueAcknowledge(long queue, byte[] frame, long stream);
	static native int queueReject(long queue, byte[] frame);
	static native int queueInfo(long queue, byte[] out);

	static native int clientOpen(long broker, byte[] name, int flags, int gid, long timeoutNs,
			long cancel, long[] out);
	static native int clientImport(long broker, byte[] token, int flags, int gid, long[] out);
	static native int clientServiceInfo(long client, byte[] out);
	static native int clientFunction(long client, int index, byte[] out);
	static native int clientWaitReady(long client, long timeoutNs, long cancel);
	static native int clientFind(long client, byte[] name, byte[] signature, long timeoutNs,
			long cancel, long[] out);
	static native int clientSubmit(long client, int function, long[] numbers, byte[][] pieces,
			byte[] params, long[] dependsOn, long after, boolean call, long timeoutNs, long cancel,
			long[] out);
	static native int clientLaneTimeline(long client, int lane, long timeoutNs, long cancel,
			long[] out);
	static native int ticketWait(long ticket, long timeoutNs, long cancel);
	static native int ticketResult(long ticket, int index, long[] numbers, byte[][] pieces);
	static native void ticketCancel(long ticket);
	static native int ticketInfo(long ticket, byte[] out);

	static native int serviceCreate(long device, long broker, byte[] name, byte[] params,
			long[] out);
	static native int serviceOffer(long service, byte[] name, byte[] signature, Object offer,
			int flags, long[] out);

	static native int serviceOfferBatch(long service, byte[] name, byte[] signature, Object offer,
			int flags, long waitNs, int callsMax, long[] out);
	static native void offerFree(long reference);
	static native int serviceStart(long service);
	static native int serviceServe(long service, long timeoutNs, long cancel);
	static native int serviceDrain(long service);
	static native int serviceExport(long service, int access, byte[] params, byte[] out);
	static native int serviceInfo(long service, byte[] out);
	static native int serviceFunction(long service, int index, byte[] out);
	static native int callArgument(long call, int index, long[] numbers, byte[][] pieces);
	static native int callResult(long call, int index, long[] numbers, byte[][] pieces);
	static native int callStream(long call, long[] out);
	static native int callFail(long call, int status, byte[] message);
	static native boolean callIsCancelled(long call);
	static native int callInfo(long call, byte[] out);
}
