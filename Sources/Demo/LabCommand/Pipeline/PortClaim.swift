// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// A claim to a port that a pipeline on this machine wants to use for one of its processes.
///
/// Ports are checked some time before the process listens: two pipelines that start at the same moment would both find
/// a port free. The claim is the name of an abstract socket, which ends with the process in any case.
final class PortClaim {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Claims a port; returns nil if another pipeline has claimed it.
  static func take(_ port: UInt16) -> PortClaim? {
    guard let address = UnixAddress("@martlet-port-\(port)") else { return nil }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    let claim = PortClaim(descriptor)
    return address.withPointer { bind(descriptor, $0, $1) } == 0 ? claim : nil
  }

  deinit { close(descriptor) }
}
