import ctypes
import ctypes.util

objc = ctypes.CDLL(ctypes.util.find_library("objc"))
metal = ctypes.CDLL(ctypes.util.find_library("Metal"))
objc.objc_getClass.restype = objc.sel_registerName.restype = metal.MTLCreateSystemDefaultDevice.restype = ctypes.c_void_p


class Size(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulong) for name in ("width", "height", "depth")]


def send(receiver, selector, *arguments, types=(), result=ctypes.c_void_p):
    message = ctypes.CFUNCTYPE(result, ctypes.c_void_p, ctypes.c_void_p, *types)(("objc_msgSend", objc))
    return message(receiver, objc.sel_registerName(selector.encode()), *arguments)


def string(text):
    return send(objc.objc_getClass(b"NSString"), "stringWithUTF8String:", text.encode(), types=[ctypes.c_char_p])


P, U = ctypes.c_void_p, ctypes.c_ulong
device = metal.MTLCreateSystemDefaultDevice()
source = string(open("scale.metal").read())
library = send(device, "newLibraryWithSource:options:error:", source, None, None, types=[P, P, P])
function = send(library, "newFunctionWithName:", string("scale"), types=[P])
pipeline = send(device, "newComputePipelineStateWithFunction:error:", function, None, types=[P, P])
numbers, by = (ctypes.c_float * 4)(1, 2, 3, 4), ctypes.c_float(10)
x = send(device, "newBufferWithBytes:length:options:", numbers, 16, 0, types=[P, U, U])
commands = send(send(device, "newCommandQueue"), "commandBuffer")
encoder = send(commands, "computeCommandEncoder")
send(encoder, "setComputePipelineState:", pipeline, types=[P], result=None)
send(encoder, "setBuffer:offset:atIndex:", x, 0, 0, types=[P, U, U], result=None)
send(encoder, "setBytes:length:atIndex:", ctypes.byref(by), 4, 1, types=[P, U, U], result=None)
send(encoder, "dispatchThreads:threadsPerThreadgroup:", Size(4, 1, 1), Size(4, 1, 1), types=[Size, Size], result=None)
send(encoder, "endEncoding", result=None)
send(commands, "commit", result=None)
send(commands, "waitUntilCompleted", result=None)
print(*(ctypes.c_float * 4).from_address(send(x, "contents")))
