// SPDX-License-Identifier: Apache-2.0
import APNS
import Synchronization

/// What the gateway knows, shared by its loops and the admin port. Loops look at the version each
/// turn and take a copy when it has changed: the hot path takes no lock.
package final class GatewayWorld: Sendable {
  struct Knowledge: Sendable {
    var keys: [GatewayKey]
    var devices: DeviceRegistry
  }

  private let acceptsUnknown: Bool
  private let knowledge: Mutex<Knowledge>
  private let currentVersion = Atomic(1)
  private let connectionIDs = Atomic<UInt64>(0)

  package init(keys: [GatewayKey], tokens: [DeclaredToken], acceptsUnknown: Bool) {
    self.acceptsUnknown = acceptsUnknown
    var devices = DeviceRegistry(acceptsUnknown: acceptsUnknown)
    for token in tokens { devices.declare(token) }
    knowledge = Mutex(Knowledge(keys: keys, devices: devices))
  }

  /// An id for a new connection, from 1 on.
  func nextConnectionID() -> UInt64 {
    connectionIDs.add(1, ordering: .relaxed).newValue
  }

  var version: Int { currentVersion.load(ordering: .acquiring) }

  func validator(_ environment: Environment) -> PushValidator {
    let known = knowledge.withLock { $0 }
    return PushValidator(
      providerTokens: ProviderTokenCheck(keys: known.keys, environment: environment),
      devices: known.devices)
  }

  /// Adds keys; one with a known id replaces it.
  package func add(_ keys: [GatewayKey]) {
    knowledge.withLock { known in
      known.keys.removeAll { old in keys.contains { $0.keyID == old.keyID } }
      known.keys += keys
    }
    currentVersion.add(1, ordering: .acquiringAndReleasing)
  }

  package func declare(_ tokens: [DeclaredToken]) {
    knowledge.withLock { known in
      for token in tokens { known.devices.declare(token) }
    }
    currentVersion.add(1, ordering: .acquiringAndReleasing)
  }

  /// Forgets every declared token.
  package func forgetTokens() {
    knowledge.withLock { $0.devices = DeviceRegistry(acceptsUnknown: acceptsUnknown) }
    currentVersion.add(1, ordering: .acquiringAndReleasing)
  }
}
