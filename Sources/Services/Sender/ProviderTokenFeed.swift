// SPDX-License-Identifier: Apache-2.0
import Bytes
import JSON
import Kafka
import Records
import ServiceKit

/// Follows the provider tokens' topic for the loops, and opens what is sealed there. Owned by the control
/// thread.
final class ProviderTokenFeed {
  private let table: KafkaTable
  private let context: ServiceContext
  private let counters: Counters<SenderGroupCounter>
  private let parser = JSONParser()
  private var seal: TokenSeal
  /// The newest record of each credential whose newest no key of ours opens.
  private var unreadable: [String: ProviderTokenRecord] = [:]

  init(
    _ table: KafkaTable, _ seal: TokenSeal, _ context: ServiceContext,
    counters: Counters<SenderGroupCounter>
  ) {
    self.table = table
    self.seal = seal
    self.context = context
    self.counters = counters
  }

  /// Hands on what has come. Waits for nothing.
  func turn(_ tell: (LoopMessage) -> Void) {
    table.poll(timeoutMilliseconds: 0) { key, value in
      guard let value else {
        let credential = String(decoding: key, as: UTF8.self)
        unreadable[credential] = nil
        return tell(.providerTokenRemoved(credential: credential))
      }
      do throws(RecordError) {
        let record = try ProviderTokenRecord(value, parser: parser)
        if !apply(record, tell) { counters.add(.unreadableTokens) }
      } catch {
        context.log.warning("ignoring a provider token record", ["error": "\(error)"])
      }
    }
  }

  /// Reads the key file again: what no key opened is tried with the new ones. A file that cannot be used leaves
  /// everything as it was.
  func reload(_ tell: (LoopMessage) -> Void) {
    do throws(TokenSealProblem) {
      guard let read = try seal.reread() else { return }
      seal = read
      context.log.info("token key read again")
    } catch {
      return context.log.error("keeping the token key as it is", ["error": "\(error)"])
    }
    for record in Array(unreadable.values) { _ = apply(record, tell) }
  }

  /// Hands a token to the loops. One that cannot be opened leaves those that are known as they are.
  ///
  /// - Returns: false when it cannot be opened.
  private func apply(_ record: ProviderTokenRecord, _ tell: (LoopMessage) -> Void) -> Bool {
    do throws(TokenSealProblem) {
      let opened = try seal.opened(record)
      unreadable[record.credential] = nil
      tell(.providerToken(opened.entry))
      return true
    } catch {
      unreadable[record.credential] = record
      context.log.error("cannot read a provider token", ["error": "\(error)"])
      return false
    }
  }
}
