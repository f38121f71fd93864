/* A stand-in for the CUDA runtime: device memory is host memory and a kernel launch does nothing.

   Preloaded into a CUDA build of PyTorch on Linux, it lets PyTorch's device checks, caching allocator
   and autograd threads run on a machine without a GPU. It computes no values; record_cuda.py
   fills them in. record_cuda.py also generates all other functions of the runtime, which do
   nothing but return success. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 2, BLOCKS = 100000 };
static const size_t TOTAL_MEMORY = (size_t)8 << 30;

static __thread int current_device = 0;
static __thread int last_error = 0;
static size_t used[GPUS];
static struct { void *address; size_t size; int device; } blocks[BLOCKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char scratch[1 << 20];

static cudaError_t fail(int error) { last_error = error; return (cudaError_t)error; }

cudaError_t cudaGetDeviceCount(int *count) { *count = GPUS; return 0; }
cudaError_t cudaGetDevice(int *device) { *device = current_device; return 0; }
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= GPUS) return fail(cudaErrorInvalidDevice);
    current_device = device;
    return 0;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
    memset(p, 0, sizeof *p);
    strcpy(p->name, "Stand-in");
    p->totalGlobalMem = TOTAL_MEMORY;
    p->major = 8;
    p->warpSize = 32;
    p->multiProcessorCount = 8;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsPerMultiProcessor = 2048;
    p->sharedMemPerBlock = 49152;
    p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = 102400;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->l2CacheSize = 1 << 20;
    p->totalConstMem = 65536;
    p->maxBlocksPerMultiProcessor = 16;
    p->memoryBusWidth = 256;
    return 0;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    switch ((int)attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMultiProcessorCount: *value = 8; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 8; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 49152; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 102400; break;
    default: *value = 1;
    }
    return 0;
}

cudaError_t cudaMalloc(void **address, size_t size) {
    *address = NULL;
    pthread_mutex_lock(&lock);
    int fits = size <= TOTAL_MEMORY && used[current_device] + size <= TOTAL_MEMORY;
    if (fits && posix_memalign(address, 2 << 20, size ? size : 1) == 0) {
        used[current_device] += size;
        for (int i = 0; i < BLOCKS; i++) {
            if (blocks[i].address == NULL) {
                blocks[i].address = *address;
                blocks[i].size = size;
                blocks[i].device = current_device;
                break;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return *address ? 0 : fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *address) {
    pthread_mutex_lock(&lock);
    for (int i = 0; address && i < BLOCKS; i++) {
        if (blocks[i].address == address) {
            used[blocks[i].device] -= blocks[i].size;
            blocks[i].address = NULL;
            free(address);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

cudaError_t cudaMemGetInfo(size_t *free_memory, size_t *total) {
    *total = TOTAL_MEMORY;
    *free_memory = TOTAL_MEMORY - used[current_device];
    return 0;
}

cudaError_t cudaHostAlloc(void **p, size_t n, unsigned f) { *p = malloc(n); return 0; }
cudaError_t cudaFreeHost(void *p) { free(p); return 0; }

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind k) {
    memmove(to, from, n);
    return 0;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind k,
                            cudaStream_t s) {
    memmove(to, from, n);
    return 0;
}
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t n, cudaStream_t s) {
    memmove(to, from, n);
    return 0;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind k,
                              cudaStream_t s) {
    for (size_t i = 0; i < height; i++)
        memmove((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    return 0;
}
cudaError_t cudaMemset(void *to, int value, size_t n) { memset(to, value, n); return 0; }
cudaError_t cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t s) {
    memset(to, value, n);
    return 0;
}

cudaError_t cudaStreamCreate(cudaStream_t *s) { *s = malloc(8); return 0; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned f) { *s = malloc(8); return 0; }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned f, int p) {
    *s = malloc(8);
    return 0;
}
cudaError_t cudaStreamGetPriority(cudaStream_t s, int *p) { *p = 0; return 0; }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *most) {
    *least = 0;
    *most = -5;
    return 0;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status) {
    *status = cudaStreamCaptureStatusNone;
    return 0;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **nodes,
                                     const cudaGraphEdgeData **edges, size_t *count) {
    *status = cudaStreamCaptureStatusNone;
    if (id) *id = 0;
    return 0;
}

cudaError_t cudaEventCreate(cudaEvent_t *e) { *e = malloc(8); return 0; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned f) { *e = malloc(8); return 0; }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) { *ms = 1; return 0; }

cudaError_t cudaGetLastError(void) {
    int error = last_error;
    last_error = 0;
    return error;
}
cudaError_t cudaPeekAtLastError(void) { return last_error; }

const char *cudaGetErrorString(cudaError_t error) {
    switch ((int)error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    default: return "unknown error";
    }
}
const char *cudaGetErrorName(cudaError_t error) {
    switch ((int)error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    default: return "cudaErrorUnknown";
    }
}

cudaError_t cudaDriverGetVersion(int *version) { *version = 13000; return 0; }
cudaError_t cudaRuntimeGetVersion(int *version) { *version = 13000; return 0; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int a, int b) { *can = 1; return 0; }

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) {
    memset(a, 0, sizeof *a);
    a->devicePointer = (void *)p;
    return 0;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f) {
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = 1024;
    a->ptxVersion = a->binaryVersion = 80;
    return 0;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int b,
                                                                   size_t s, unsigned flags) {
    *n = 4;
    return 0;
}
cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device) {
    snprintf(text, size, "0000:00:0%d.0", device);
    return 0;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result) {
    *function = NULL;
    if (result) *result = cudaDriverEntryPointSymbolNotFound;
    return 0;
}
cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
    *address = scratch;
    return 0;
}
void **__cudaRegisterFatBinary(void *binary) {
    static void *handle[16];
    return handle;
}
/* A nonzero result makes the caller skip the launch. */
unsigned __cudaPushCallConfiguration() { return 1; }
